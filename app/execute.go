package app

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// Block is the input of Execute: the decoded transactions of one height, and CometBFT's evidence of
// misbehaviour. That evidence is never a reason to reject a block.
type Block struct {
	Height      uint64
	Txs         []*tx.Tx
	Misbehavior []Misbehavior
	// Closed is the cached result of the block's round, from another block of this height with the
	// same round. If Closed is nil, Execute runs the round.
	Closed *Closed
}

// Outcome is the result of a valid block.
type Outcome struct {
	// State is the state after the block.
	State *State
	// Record is the record of the round that the block closed, nil if the block closed no round.
	Record *Record
	// Closed is the part of the outcome that the round alone determines, nil if the block closed no round.
	Closed *Closed
	// Committed lists the participants whose commitments the block carries. Revealing is true if
	// the block ended the commit phase.
	Committed []uint32
	Revealing bool
	// Enacted has one entry for each accepted proposal that the node tried to enact at the round boundary in this block.
	Enacted []Enactment
	// Discarded has one entry for each proposal that a withdrawal or the expiry removed.
	Discarded []Discard
	// Offences are the new offences that follow from CometBFT's evidence in the block.
	Offences []Offence
	// Validators are the changes of CometBFT's validator set.
	Validators []ValidatorUpdate
	// BlockBytes is the new block.max_bytes, 0 if it does not change.
	BlockBytes int64
	// Changed reports whether the state may differ in more than the height.
	Changed bool
}

// Closed is the result of closing the open round. The result depends only on the block's aggregate
// and gradients, so blocks of one height that begin with the same aggregate and gradients share one
// Closed. The rule is most of the cost of such a block.
type Closed struct {
	state   *State // the state after the round and before the operations; immutable
	record  *Record
	outputs []leader.Contender // the verified VRF outputs
}

// Round splits a block's transactions into the round (the aggregate and its gradients, nil if the
// block has no aggregate) and the transactions after the round.
func (b Block) Round() (round, operations []*tx.Tx) {
	if len(b.Txs) == 0 || b.Txs[0].Aggregate == nil {
		return nil, b.Txs
	}
	end := min(len(b.Txs), 1+len(b.Txs[0].Aggregate.Included))
	return b.Txs[:end:end], b.Txs[end:]
}

// Commits returns the transactions of a block that follow those of the round, in two parts: first
// the commitments, and then the operations.
func (b Block) Commits() (commits, operations []*tx.Tx) {
	_, rest := b.Round()
	n := 0
	for n < len(rest) && rest[n].Commit != nil {
		n++
	}
	return rest[:n:n], rest[n:]
}

// Execute verifies a block and computes its outcome. If it fails, the block is invalid, and the
// error wraps the error of a rule in SPEC.md. Execute does not change s.
func (s *State) Execute(b Block) (*Outcome, error) {
	if b.Height != s.Height+1 {
		return nil, fmt.Errorf("%w: got %d, want %d", ErrHeight, b.Height, s.Height+1)
	}
	if err := s.Executable(); err != nil {
		return nil, err
	}
	if b.Closed == nil {
		var err error
		if b.Closed, err = s.executeRound(b); err != nil {
			return nil, err
		}
	}
	return s.finish(b)
}

// executeRound closes the open round with a block's aggregate and gradients. It returns nil for a
// block without an aggregate.
func (s *State) executeRound(b Block) (*Closed, error) {
	round, _ := b.Round()
	if round == nil {
		return nil, nil
	}
	vectors, err := s.checkRound(b.Height, round)
	if err != nil {
		return nil, err
	}
	outputs, err := s.outputs(round[1:])
	if err != nil {
		return nil, err
	}
	next := s.clone(b.Height)
	record, err := s.closeRound(next, round, vectors, outputs)
	return &Closed{state: next, record: record, outputs: outputs}, err
}

// finish executes the part of a block after its round: commitments, operations, CometBFT's
// evidence, the boundary, the election and the change of phase. The receiver is the state before
// the block. If the block closes a round, finish continues from the state in b.Closed.
func (s *State) finish(b Block) (*Outcome, error) {
	stalled := s.isStalled(b.Height)
	if len(b.Txs) == 0 && len(b.Misbehavior) == 0 && !s.endsCommitPhase(b.Height) && !s.hasExpired(b.Height) &&
		(!stalled && !s.Finished() || !s.isBoundaryDue()) {
		return &Outcome{State: s.clone(b.Height)}, nil
	}
	after, record, contenders := s, (*Record)(nil), []leader.Contender(nil)
	if c := b.Closed; c != nil {
		after, record, contenders = c.state, c.record, c.outputs
	}
	next := after.clone(b.Height)
	committed, err := next.executeTxs(b)
	if err != nil {
		return nil, err
	}
	out := &Outcome{State: next, Record: record, Closed: b.Closed, Changed: true, Committed: committed}
	out.Offences = next.recordMisbehavior(b.Misbehavior)
	if out.Record != nil || (next.isOver() || stalled) && (len(b.Txs)+len(b.Misbehavior) > 0 || s.isBoundaryDue()) {
		out.Enacted = next.crossBoundary()
		out.Validators = validatorUpdates(s.Participants, next.Participants)
		out.BlockBytes = next.growBlocks()
	}
	next.expire()
	out.Discarded = next.discarded
	if out.Record != nil {
		next.elect(contenders)
	}
	out.Revealing = next.beginReveal()
	return out, next.finalize()
}

// executeTxs executes a block's commitments and then its operations. It returns the senders of the commitments.
func (s *State) executeTxs(b Block) (committed []uint32, err error) {
	commits, operations := b.Commits()
	if len(commits) > 0 && b.Closed != nil {
		return nil, fmt.Errorf("%w: it closes a round", ErrCommitPhase)
	}
	if err := s.takeCommits(commits); err != nil {
		return nil, err
	}
	for _, t := range commits {
		committed = append(committed, t.Commit.Participant)
	}
	return committed, s.executeOperations(operations)
}

// SafeExecute calls Execute, and turns a panic into an error. A block from an outsider must stop
// neither a node nor a reader of an archive.
func (s *State) SafeExecute(b Block) (out *Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	return s.Execute(b)
}

// checkRound applies all rules except the tolerance (B3) and the VRF proofs (G5) to a block's
// aggregate and the gradients after it. It returns the gradients' vectors in participant order.
func (s *State) checkRound(height uint64, round []*tx.Tx) ([]gradients.Vector, error) {
	if s.Finished() {
		return nil, fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, s.Progress.Round, s.Params.Training.Rounds)
	}
	aggregate, listed := round[0], round[1:]
	a := aggregate.Aggregate
	if err := s.checkAggregate(aggregate); err != nil {
		return nil, err
	}
	if views := s.OpenView(height); uint64(a.View) > views {
		return nil, fmt.Errorf("%w: view %d, the highest at height %d is %d", ErrViewClosed, a.View, height, views)
	}
	if err := s.mayCloseWith(participantsOf(a.Included), height); err != nil {
		return nil, err
	}
	if len(listed) < len(a.Included) {
		return nil, fmt.Errorf("%w: %d transactions after the aggregate, it lists %d", ErrMismatch, len(listed),
			len(a.Included))
	}
	for i, t := range listed {
		if err := s.checkListed(i, a.Included[i], t); err != nil {
			return nil, err
		}
	}
	s.verifyAll(listed)
	vectors := make([]gradients.Vector, len(listed))
	for i, t := range listed {
		v, err := s.checkGradient(t)
		if err != nil {
			return nil, err
		}
		vectors[i] = v
	}
	return vectors, nil
}

// checkListed checks t, the block's transaction for entry i of the aggregate's list: t must be a
// gradient (B1) of the open round (G1), and must match the entry (B2).
func (s *State) checkListed(i int, entry tx.Included, t *tx.Tx) error {
	switch {
	case t.Gradient == nil:
		return fmt.Errorf("%w: transaction %d is a %s, the aggregate lists %d gradients and more", ErrOrder, i+1, t.Kind(), i)
	case !s.isOpen(t.Gradient.Epoch, t.Gradient.Round):
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d", ErrWrongRound, t.Gradient.Epoch,
			t.Gradient.Round, s.Progress.Epoch, s.Progress.Round)
	case !sameGradient(entry, t):
		return fmt.Errorf("%w: transaction %d is participant %d's %X, the aggregate lists participant %d's %X",
			ErrMismatch, i+1, t.Gradient.Participant, t.Content[:8], entry.Participant, entry.Hash[:8])
	}
	return nil
}

// verifyCost is the approximate cost of verifying a gradient's signature and VRF proof, in integer additions.
const verifyCost = 1 << 16

// verifyAll verifies the signatures and VRF proofs of gradients or commitments of the open round on
// all cores. Each transaction caches a success. verifyAll reports no failure: the caller checks the
// transactions again in order, so the verdict does not depend on the scheduling.
func (s *State) verifyAll(txs []*tx.Tx) {
	gradients.InParallel(len(txs), verifyCost, func(i int) {
		t := txs[i]
		place, _ := tx.PlaceOf(t)
		p := s.participant(place.Participant)
		if p != nil && t.Verify(s.ChainID, p.PubKey) == nil && (t.Commit != nil || len(t.Gradient.VrfProof) > 0) {
			_, _ = t.VerifyVRF(p.VrfKey, s.VRFInput())
		}
	})
}

// outputs returns the VRF outputs that decide the election after the open round, by participant.
// With commit_reveal they are those of the commitments of the commit phase, which no leader chooses.
// Otherwise they are those of the round's gradients. outputs verifies the gradients' proofs (G5).
func (s *State) outputs(listed []*tx.Tx) (out []leader.Contender, err error) {
	for _, t := range listed {
		c, err := s.checkProof(t)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if s.Params.Election.CommitReveal {
		out = nil
		for _, c := range s.Progress.Commitments {
			if len(c.VrfOutput) > 0 {
				out = append(out, leader.Contender{Participant: c.Participant, Output: leader.Output(c.VrfOutput)})
			}
		}
	}
	return out, nil
}

// growBlocks raises CometBFT's block.max_bytes if the active participants need larger blocks. It
// returns the new value, or 0 if there is no change.
func (s *State) growBlocks() int64 {
	need := s.Params.BlockBytes(s.Active())
	if s.Progress.BlockBytes < 0 || s.Progress.BlockBytes >= need {
		return 0
	}
	s.Progress.BlockBytes = need
	return need
}

// DigestError is the error of an aggregate whose digest is not the digest of the recomputed Delta.
// It wraps ErrTolerance. Digest and Recomputed are these two digests, of 32 bytes each.
type DigestError struct{ Digest, Recomputed []byte }

func (e *DigestError) Error() string {
	return fmt.Sprintf("%v: digest %X, recomputed %X", ErrTolerance, e.Digest[:8], e.Recomputed[:8])
}

func (e *DigestError) Unwrap() error { return ErrTolerance }

// checkTolerance rejects an aggregate whose Delta differs too much from the recomputed Delta (B3). At tolerance 0 the
// digests must be equal; at a higher tolerance each coordinate may differ by the tolerance. checkTolerance returns the
// Delta that the model update uses: the recomputed Delta at tolerance 0, the aggregate's Delta at a higher tolerance.
func (s *State) checkTolerance(a *tx.Aggregate, recomputed gradients.Fraction) (gradients.Fraction, error) {
	tolerance := s.Params.Rule.Tolerance
	if tolerance == 0 {
		if digest := recomputed.Digest(); !bytes.Equal(digest[:], a.Digest) {
			return recomputed, &DigestError{Digest: a.Digest, Recomputed: digest[:]}
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

// closeRound runs the rule, checks the aggregate's Delta, and writes model, reputations, budgets
// and history into newState, the state after the round. round has the aggregate and its gradients,
// and outputs the VRF outputs by participant. It returns the record of the round.
func (s *State) closeRound(newState *State, round []*tx.Tx, vectors []gradients.Vector,
	outputs []leader.Contender) (*Record, error) {
	a := round[0].Aggregate
	out, err := s.aggregate(a.Included, vectors)
	if err != nil {
		return nil, err
	}
	if out.Delta, err = s.checkTolerance(a, out.Delta); err != nil {
		return nil, err
	}
	newState.Model, newState.Velocity = update(s.Params, s.Model, s.Velocity, out.Delta)
	newState.model, newState.velocity = ModelHash(newState.Model), ModelHash(newState.Velocity)
	record := s.record(newState.Height, a, out)
	s.updateReputations(newState, record, out.Delta, vectors, round[1:])
	for i, in := range a.Included {
		p := &newState.Participants[in.Participant]
		p.Participations++
		p.Releases++
		p.Spent = s.Params.Privacy.Pay(p.Spent)
		at, ok := slices.BinarySearchFunc(outputs, in.Participant,
			func(c leader.Contender, p uint32) int { return cmp.Compare(c.Participant, p) })
		if ok {
			record.Contributions[i].VrfOutput = slices.Clone(outputs[at].Output[:])
		}
	}
	for _, index := range record.Withheld {
		newState.Participants[index].Spent = s.Params.Privacy.Pay(newState.Participants[index].Spent)
	}
	model := newState.model // the boundary in this block may replace newState.model
	record.ModelHash = model[:]
	newState.history.push(record.Pair().Leaf())
	for i := range newState.Participants {
		newState.Participants[i].Absence, newState.Participants[i].Lapses = 0, 0
	}
	newState.openRound(s.Progress.Round + 1)
	return record, nil
}
