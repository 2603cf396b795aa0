package app

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// Block is what Execute judges: the decoded transactions of one height, and what its evidence proves of
// validators. The evidence is CometBFT's to judge, and no reason to reject a block.
type Block struct {
	Height      uint64
	Txs         []*tx.Tx
	Misbehavior []Misbehavior
}

// Outcome is what a valid block leads to.
type Outcome struct {
	// State is the state after the block.
	State *State
	// Record is the round that the block closed, nil where it closed none.
	Record *Record
	// Enacted are what a round boundary did to the consortium.
	Enacted []Enactment
	// Offences are what the block's evidence put on file.
	Offences []Offence
	// Validators are the changes of CometBFT's validator set.
	Validators []ValidatorUpdate
	// BlockBytes is a new block.max_bytes, 0 where it stays.
	BlockBytes int64
	// Changed reports whether anything but the height is new.
	Changed bool
}

// Execute judges a block and computes its outcome. Any error is a reason to
// reject the block; it wraps one of the rules of SPEC.md. The receiver is not
// changed.
func (s *State) Execute(b Block) (*Outcome, error) {
	if b.Height != s.Height+1 {
		return nil, fmt.Errorf("%w: got %d, want %d", ErrHeight, b.Height, s.Height+1)
	}
	next := s.fork(b.Height)
	stalled := s.stalled(b.Height)
	if len(b.Txs) == 0 && len(b.Misbehavior) == 0 && (!stalled && !s.Finished() || !s.due()) {
		return &Outcome{State: next}, nil
	}
	out := &Outcome{State: next, Changed: true}
	operations, draws := b.Txs, []leader.Draw(nil)
	if len(b.Txs) > 0 && b.Txs[0].Aggregate != nil {
		var err error
		if operations, draws, err = s.executeRound(b, out); err != nil {
			return nil, err
		}
	}
	if err := next.executeOperations(operations); err != nil {
		return nil, err
	}
	out.Offences = next.convict(b.Misbehavior)
	if out.Record != nil || next.over() || stalled {
		out.Enacted = next.boundary()
		out.Validators = validatorUpdates(s.Participants, next.Participants)
		out.BlockBytes = next.growBlocks()
	}
	if out.Record != nil {
		next.elect(draws)
	}
	return out, next.seal()
}

// executeRound closes the open round with a block's aggregate and gradients, in the outcome's state.
// It returns the operations that follow them, and the verified VRF outputs.
func (s *State) executeRound(b Block, out *Outcome) (operations []*tx.Tx, draws []leader.Draw, err error) {
	vectors, operations, err := s.checkRound(b)
	if err != nil {
		return nil, nil, err
	}
	if draws, err = s.draws(b.Txs[1 : 1+len(vectors)]); err != nil {
		return nil, nil, err
	}
	out.Record, err = s.closeRound(out.State, b.Txs[0].Aggregate, vectors, draws)
	return operations, draws, err
}

// Judge is Execute with a panic turned into a fault of the block: what an outsider sends must not
// stop a node, nor whoever reads an archive.
func (s *State) Judge(b Block) (out *Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	return s.Execute(b)
}

// checkRound applies to a block with an aggregate all rules on its round but
// the tolerance and the lots. It returns the vectors in participant order and
// the transactions that follow the gradients.
func (s *State) checkRound(b Block) ([]gradients.Vector, []*tx.Tx, error) {
	if s.Finished() {
		return nil, nil, fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, s.Progress.Round, s.Params.Training.Rounds)
	}
	first := b.Txs[0]
	a := first.Aggregate
	if err := s.checkAggregate(first); err != nil {
		return nil, nil, err
	}
	if views := s.openViews(b.Height); uint64(a.View) > views {
		return nil, nil, fmt.Errorf("%w: view %d, the highest at height %d is %d", ErrViewClosed, a.View, b.Height, views)
	}
	if err := s.mayCloseWith(len(a.Included), b.Height); err != nil {
		return nil, nil, err
	}
	if len(b.Txs)-1 < len(a.Included) {
		return nil, nil, fmt.Errorf("%w: %d transactions after the aggregate, it lists %d", ErrMismatch, len(b.Txs)-1, len(a.Included))
	}
	round, rest := b.Txs[1:1+len(a.Included)], b.Txs[1+len(a.Included):]
	for i, t := range round {
		if err := s.checkListed(i, a.Included[i], t); err != nil {
			return nil, nil, err
		}
	}
	s.prove(round)
	vectors := make([]gradients.Vector, len(round))
	for i, t := range round {
		v, err := s.checkGradient(t)
		if err != nil {
			return nil, nil, err
		}
		vectors[i] = v
	}
	return vectors, rest, nil
}

// checkListed is B2 and G1 on the transaction behind one entry of the
// aggregate.
func (s *State) checkListed(i int, in tx.Included, t *tx.Tx) error {
	switch {
	case t.Gradient == nil:
		return fmt.Errorf("%w: transaction %d is a %s, the aggregate lists %d gradients and more", ErrOrder, i+1, t.Kind(), i)
	case t.Gradient.Epoch != s.Progress.Epoch || t.Gradient.Round != s.Progress.Round:
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d", ErrWrongRound, t.Gradient.Epoch, t.Gradient.Round, s.Progress.Epoch, s.Progress.Round)
	case !sameGradient(in, t):
		return fmt.Errorf("%w: transaction %d is participant %d's %X, the aggregate lists participant %d's %X",
			ErrMismatch, i+1, t.Gradient.Participant, t.Content[:8], in.Participant, in.Hash[:8])
	}
	return nil
}

// proveCost is what the two signatures of a gradient cost to verify, in
// additions or so.
const proveCost = 1 << 16

// prove verifies signatures and lots of gradients on all cores. A transaction
// remembers what holds, and what does not hold is found again, in order, by who
// checks it: so the verdict depends on no schedule.
func (s *State) prove(round []*tx.Tx) {
	gradients.InParallel(len(round), proveCost, func(i int) {
		t := round[i]
		if p := s.participant(t.Gradient.Participant); p != nil && t.Verify(s.ChainID, p.PubKey) == nil {
			_, _ = s.checkDraw(t)
		}
	})
}

// draws applies G5 to a round's gradients and returns their lots.
func (s *State) draws(round []*tx.Tx) ([]leader.Draw, error) {
	draws := make([]leader.Draw, len(round))
	for i, t := range round {
		d, err := s.checkDraw(t)
		if err != nil {
			return nil, err
		}
		draws[i] = d
	}
	return draws, nil
}

// growBlocks raises CometBFT's block size where the consortium needs it, and
// returns the new one.
func (s *State) growBlocks() int64 {
	need := s.Params.BlockBytes(s.Active())
	if s.Progress.BlockBytes < 0 || s.Progress.BlockBytes >= need {
		return 0
	}
	s.Progress.BlockBytes = need
	return need
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

// closeRound aggregates, checks the tolerance and applies Delta to the next
// state: the model update, the reputations, the record of the round.
func (s *State) closeRound(next *State, a *tx.Aggregate, vectors []gradients.Vector, draws []leader.Draw) (*Record, error) {
	out, err := s.aggregate(a.Included, vectors)
	if err != nil {
		return nil, err
	}
	if out.Delta, err = s.checkTolerance(a, out.Delta); err != nil {
		return nil, err
	}
	next.Model, next.Velocity = update(s.Params.Training, s.Model, s.Velocity, out.Delta, s.Params.Grid.Step)
	next.model, next.velocity = ModelHash(next.Model), ModelHash(next.Velocity)
	record := s.record(next.Height, a, out)
	s.judge(next, record, out.Delta, vectors)
	for i, in := range a.Included {
		p := &next.Participants[in.Participant]
		p.Participations++
		p.Releases++
		p.Spent = s.Params.Privacy.Pay(p.Spent)
		record.Contributions[i].Draw = draws[i].Output[:]
	}
	model := next.model // the boundary in this block may put another one in its place
	record.ModelHash = model[:]
	next.history.push(record.Pair().Leaf())
	next.Progress.Round++
	next.Progress.Opened = next.Height + 1
	return record, nil
}
