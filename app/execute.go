package app

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// Block is what Execute judges: the decoded transactions of one height.
type Block struct {
	Height uint64
	Txs    []*tx.Tx
}

// Outcome is what a valid block leads to.
type Outcome struct {
	// State is the state after the block.
	State *State
	// Record is the round that the block closed, nil where it closed none.
	Record *Record
}

// Execute judges a block and computes its outcome. Any error is a reason to
// reject the block; it wraps one of the rules of SPEC.md. The receiver is not
// changed.
func (s *State) Execute(b Block) (*Outcome, error) {
	if b.Height != s.Height+1 {
		return nil, fmt.Errorf("%w: got %d, want %d", ErrHeight, b.Height, s.Height+1)
	}
	if len(b.Txs) == 0 {
		next := *s
		next.Height = b.Height
		return &Outcome{State: &next}, nil
	}
	vectors, err := s.checkBlock(b)
	if err != nil {
		return nil, err
	}
	a := b.Txs[0].Aggregate
	out, err := s.aggregate(a.Included, vectors)
	if err != nil {
		return nil, err
	}
	delta, err := s.checkTolerance(a, out.Delta)
	if err != nil {
		return nil, err
	}
	out.Delta = delta
	return s.closeRound(b.Height, a, vectors, out)
}

// checkBlock applies all rules but the tolerance and returns the vectors in
// participant order.
func (s *State) checkBlock(b Block) ([]gradients.Vector, error) {
	if s.Finished() {
		return nil, fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, s.Progress.Round, s.Params.Training.Rounds)
	}
	first := b.Txs[0]
	if first.Aggregate == nil {
		return nil, fmt.Errorf("%w: the first transaction is a %s", ErrOrder, first.Kind())
	}
	a := first.Aggregate
	if err := s.checkAggregate(first); err != nil {
		return nil, err
	}
	if views := s.openViews(b.Height); uint64(a.View) > views {
		return nil, fmt.Errorf("%w: view %d, the highest at height %d is %d", ErrViewClosed, a.View, b.Height, views)
	}
	if err := s.mayCloseWith(len(a.Included), b.Height); err != nil {
		return nil, err
	}
	if len(b.Txs)-1 != len(a.Included) {
		return nil, fmt.Errorf("%w: %d transactions after the aggregate, it lists %d", ErrMismatch, len(b.Txs)-1, len(a.Included))
	}
	vectors := make([]gradients.Vector, len(a.Included))
	for i, t := range b.Txs[1:] {
		if t.Gradient == nil {
			return nil, fmt.Errorf("%w: transaction %d is a %s", ErrOrder, i+1, t.Kind())
		}
		if t.Gradient.Epoch != s.Progress.Epoch || t.Gradient.Round != s.Progress.Round {
			return nil, fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d", ErrWrongRound, t.Gradient.Epoch, t.Gradient.Round, s.Progress.Epoch, s.Progress.Round)
		}
		if !sameGradient(a.Included[i], t) {
			return nil, fmt.Errorf("%w: transaction %d is participant %d's %X, the aggregate lists participant %d's %X",
				ErrMismatch, i+1, t.Gradient.Participant, t.Content[:8], a.Included[i].Participant, a.Included[i].Hash[:8])
		}
		v, err := s.checkGradient(t)
		if err != nil {
			return nil, err
		}
		vectors[i] = v
	}
	return vectors, nil
}

// checkTolerance is B3, the paper's Delta~ within (Delta-delta, Delta+delta):
// exact at tolerance 0, where the digest is compared; else coordinate by
// coordinate, and the block's own Delta is the one to apply.
func (s *State) checkTolerance(a *tx.Aggregate, recomputed gradients.Fraction) (gradients.Fraction, error) {
	tolerance := s.Params.Rule.Tolerance
	if tolerance == 0 {
		if digest := sha256.Sum256(recomputed.Encode()); !bytes.Equal(digest[:], a.Digest) {
			return recomputed, fmt.Errorf("%w: digest %X, recomputed %X", ErrTolerance, a.Digest[:8], digest[:8])
		}
		return recomputed, nil
	}
	given, err := s.decodeDelta(a)
	if err != nil {
		return recomputed, fmt.Errorf("%w: %w", ErrDeltaForm, err)
	}
	if j, ok := recomputed.Within(given, tolerance); !ok {
		return recomputed, fmt.Errorf("%w: coordinate %d is %d/%d, recomputed %d/%d, tolerance %d",
			ErrTolerance, j, given.Num[j], given.Den, recomputed.Num[j], recomputed.Den, tolerance)
	}
	return given, nil
}

// closeRound applies Delta: the model update, the reputations, the record of
// the round and, at the end of a term, the next election.
func (s *State) closeRound(height uint64, a *tx.Aggregate, vectors []gradients.Vector, out rules.Output) (*Outcome, error) {
	next := *s
	next.Height = height
	next.Model, next.Velocity = s.Params.Training.update(s.Model, s.Velocity, out.Delta, s.Params.Grid.Step)
	next.Participants = append([]Participant(nil), s.Participants...)
	record := s.record(height, a, out)
	for i, in := range a.Included {
		p := &next.Participants[in.Participant]
		opposed := out.Delta.Dot(vectors[i]) < 0
		p.Reputation = s.Params.Reputation.after(p.Reputation, opposed)
		p.Participations++
		record.Contributions[i].Opposed = opposed
		record.Contributions[i].Reputation = p.Reputation
	}
	model := ModelHash(next.Model)
	record.ModelHash = model[:]
	next.history.push(mustMarshal(record))
	next.Progress.Round++
	next.Progress.Opened = height + 1
	if next.Progress.Round%s.Params.Election.Term == 0 {
		next.elect()
	}
	if err := next.seal(); err != nil {
		return nil, err
	}
	return &Outcome{State: &next, Record: record}, nil
}
