package app

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// Admit judges one pending transaction against the state, for the pool and CheckTx. It is more
// lenient than a block in three cases:
//
//   - It accepts a gradient or a commitment of the next round, because a faster peer may already
//     have reached that round. The VRF proof of such a gradient depends on a seed that this state
//     does not know yet: the caller must admit the gradient again when its round is open.
//   - It accepts an aggregate of the open round at any height, because the aggregate's view may open
//     at a later height.
//   - It accepts a second commitment of a participant, because two different commitments are
//     evidence against the participant.
func (s *State) Admit(t *tx.Tx) error {
	switch t.Kind() {
	case tx.KindGradient:
		return s.admitGradient(t)
	case tx.KindCommit:
		return s.admitCommit(t)
	case tx.KindAggregate:
		if s.Finished() {
			return fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, s.Progress.Round, s.Params.Training.Rounds)
		}
		return s.checkAggregate(t)
	default:
		return s.checkOperation(t)
	}
}

func (s *State) admitGradient(t *tx.Tx) error {
	g, open := t.Gradient, s.Progress.Round
	switch last := s.Params.Training.Rounds; {
	case s.Finished():
		return fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, open, last)
	case g.Epoch != s.Progress.Epoch || g.Round < open || g.Round > open+1 || g.Round >= last:
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d of %d", ErrWrongRound, g.Epoch, g.Round,
			s.Progress.Epoch, open, last)
	}
	if g.Round == open {
		if err := s.checkCommitted(t); err != nil {
			return err
		}
	}
	if _, err := s.checkGradient(t); err != nil || g.Round > open {
		return err
	}
	_, err := s.checkProof(t)
	return err
}

// checkGradient checks sender, payload, observations, norm, budget and signature of a gradient for the open round or
// the next round (G2 to G4, G6, G7, G9), and the size of its VRF proof. It returns the decoded vector.
func (s *State) checkGradient(t *tx.Tx) (gradients.Vector, error) {
	g := t.Gradient
	p := s.participant(g.Participant)
	if p == nil {
		return gradients.Vector{}, fmt.Errorf("%w: participant %d, %d are registered", ErrNotParticipant, g.Participant,
			len(s.Participants))
	}
	v, err := t.Vector(s.Grid().Width, len(s.Model))
	if err != nil {
		return gradients.Vector{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	if err := s.CheckObservations(g.Late, g.Failed); err != nil {
		return gradients.Vector{}, err
	}
	// Only the size of the VRF proof is checked here. The proof of a gradient of the next round cannot be
	// verified yet, because the seed of that round is not known.
	if n := len(g.VrfProof); n != leader.ProofSize && !s.mayLackProof(g) {
		return gradients.Vector{}, fmt.Errorf("%w: participant %d in epoch %d round %d: %d bytes, want %d", ErrProof,
			g.Participant, g.Epoch, g.Round, n, leader.ProofSize)
	}
	if err := s.checkNorm(p, g.Round, v); err != nil {
		return gradients.Vector{}, err
	}
	if err := s.checkBudget(p); err != nil {
		return gradients.Vector{}, err
	}
	if err := t.Verify(s.ChainID, p.PubKey); err != nil {
		return gradients.Vector{}, fmt.Errorf("%w: %w", ErrGradientSigned, err)
	}
	return v, nil
}

// mayLackProof reports whether a gradient needs no VRF proof: with commit_reveal the commitment has
// the proof. A gradient that was signed before state machine 7 has one all the same.
func (s *State) mayLackProof(g *tx.Gradient) bool {
	return s.Params.Election.CommitReveal && len(g.VrfProof) == 0
}

// MaxObserved is the max number of participants in each list of a gradient's observations, so that a
// round's gradients keep to the room that a block has for them.
const MaxObserved = 256

// CheckObservations rejects observations that do not name registered participants in increasing order,
// or name too many (G9).
func (s *State) CheckObservations(late, failed []uint32) error {
	if n := max(len(late), len(failed)); n > MaxObserved {
		return fmt.Errorf("%w: a list of %d, at most %d", ErrObservations, n, MaxObserved)
	}
	for _, list := range [][]uint32{late, failed} {
		for i, index := range list {
			if uint64(index) >= uint64(len(s.Participants)) || i > 0 && index <= list[i-1] {
				return fmt.Errorf("%w: late %v, failed %v, %d are registered", ErrObservations, late, failed, len(s.Participants))
			}
		}
	}
	return nil
}

// VRFInput returns the VRF input of the open round.
func (s *State) VRFInput() []byte {
	return leader.Input(s.ChainID, s.Progress.Epoch, s.Progress.Round, s.Progress.Seed)
}

// checkProof verifies the VRF proof of a gradient (G5), if it needs or has one. The caller must have
// checked that the gradient is for the open round, and that its sender is active.
func (s *State) checkProof(t *tx.Tx) (leader.Contender, error) {
	index := t.Gradient.Participant
	if s.mayLackProof(t.Gradient) {
		return leader.Contender{Participant: index}, nil
	}
	out, err := t.VerifyVRF(s.Participants[index].VrfKey, s.VRFInput())
	if err != nil {
		err = fmt.Errorf("%w: participant %d in epoch %d round %d: %w", ErrProof, index, s.Progress.Epoch, s.Progress.Round,
			err)
	}
	return leader.Contender{Participant: index, Output: out}, err
}

// checkAggregate applies the rules for aggregates that do not depend on the height (A1, A2, A4, A6 to A8).
func (s *State) checkAggregate(t *tx.Tx) error {
	a := t.Aggregate
	if !s.isOpen(a.Epoch, a.Round) {
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d", ErrAggregateRound, a.Epoch, a.Round,
			s.Progress.Epoch, s.Progress.Round)
	}
	if err := s.checkContent(a); err != nil {
		return err
	}
	if err := t.Verify(s.ChainID, s.Participants[a.Leader].PubKey); err != nil {
		return fmt.Errorf("%w: %w", ErrAggregateSigned, err)
	}
	return s.checkDeltaForm(a)
}

// checkContent applies the rules on an aggregate's leader and on its list of gradients (A2, A4 and A8).
func (s *State) checkContent(a *tx.Aggregate) error {
	if err := s.mayLead(a.Leader, a.View); err != nil {
		return err
	}
	if err := s.checkIncluded(a.Included); err != nil {
		return err
	}
	return s.checkRevealed(a.Included)
}

// checkIncluded checks an aggregate's list (A4): the list must name at least N-f active
// participants, in increasing order, each with a 32-byte hash.
func (s *State) checkIncluded(included []tx.Included) error {
	n := s.Active()
	if least := n - s.F(); len(included) < least || len(included) > n {
		return fmt.Errorf("%w: %d gradients, want %d to %d", ErrIncluded, len(included), least, n)
	}
	for i, in := range included {
		switch {
		case i > 0 && in.Participant <= included[i-1].Participant:
			return fmt.Errorf("%w: participant %d after %d", ErrIncluded, in.Participant, included[i-1].Participant)
		case s.participant(in.Participant) == nil:
			return fmt.Errorf("%w: participant %d is not active", ErrIncluded, in.Participant)
		case len(in.Hash) != sha256.Size:
			return fmt.Errorf("%w: hash of participant %d has %d bytes, want %d", ErrIncluded, in.Participant, len(in.Hash),
				sha256.Size)
		}
	}
	return nil
}

// checkDeltaForm rejects an aggregate whose Delta has the wrong form (A7). At tolerance 0 an
// aggregate carries only the digest of Delta. At a higher tolerance it carries only the vector.
func (s *State) checkDeltaForm(a *tx.Aggregate) error {
	if s.Params.Rule.Tolerance == 0 {
		if len(a.Digest) != sha256.Size || len(a.Delta) != 0 {
			return fmt.Errorf("%w: digest of %d and vector of %d bytes, want %d and 0", ErrDeltaForm, len(a.Digest),
				len(a.Delta), sha256.Size)
		}
		return nil
	}
	if len(a.Digest) != 0 {
		return fmt.Errorf("%w: digest of %d bytes, want none at tolerance %d", ErrDeltaForm, len(a.Digest),
			s.Params.Rule.Tolerance)
	}
	if _, err := s.decodeDelta(a); err != nil {
		return fmt.Errorf("%w: %w", ErrDeltaForm, err)
	}
	return nil
}

func (s *State) decodeDelta(a *tx.Aggregate) (gradients.Fraction, error) {
	return gradients.DecodeFraction(s.Grid().Width, len(s.Model), s.denominator(len(a.Included)), a.Delta)
}

// denominator returns the denominator of Delta, which depends on the number of included gradients.
func (s *State) denominator(included int) int64 {
	n := s.Active()
	if s.Params.Rule.Zeros {
		included = n
	}
	return s.rule.Denominator(n, s.F(), included)
}

// sameGradient reports whether t is the gradient that an entry of the aggregate names.
func sameGradient(entry tx.Included, t *tx.Tx) bool {
	return t.Gradient != nil && t.Gradient.Participant == entry.Participant && bytes.Equal(t.Content[:], entry.Hash)
}
