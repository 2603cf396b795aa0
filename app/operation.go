package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// The transactions beside those of rounds: membership, evidence, epochs. Each
// is judged by checkOperation against the state that the ones before it left, and
// applied by applyOperation. What a check accepts before the round that
// closes in the same block it accepts after it, so that a proposer need not
// close it to choose them.

// maxOperations is how many of them a block may carry.
const maxOperations = 64

// checkOperation judges one transaction.
func (s *State) checkOperation(t *tx.Tx) error {
	switch body := t.Body.(type) {
	case *tx.Join:
		return s.checkJoin(t, body)
	case *tx.Approve:
		return s.checkApprove(t, body)
	case *tx.Leave:
		return s.checkLeave(t, body)
	case *tx.Rotate:
		return s.checkRotate(t, body)
	case *tx.Restore:
		return s.checkRestore(t, body)
	case *tx.Remove:
		return s.checkRemove(t, body)
	case *tx.Evidence:
		_, err := s.checkEvidence(body)
		return err
	case *tx.StartEpoch:
		return s.checkStartEpoch(t, body)
	}
	return fmt.Errorf("%w: a %s stands among the others", ErrOrder, t.Kind())
}

// applyOperation applies one that checkOperation accepted. The state is not published
// yet.
func (s *State) applyOperation(height uint64, t *tx.Tx) {
	switch body := t.Body.(type) {
	case *tx.Join:
		s.evictJoin()
		s.propose(height, t, nil, false)
	case *tx.Approve:
		s.approve(height, body)
	case *tx.Leave, *tx.Rotate:
		s.propose(height, t, nil, true)
	case *tx.Restore:
		s.move(height, t, body.Participant)
	case *tx.Remove:
		s.move(height, t, body.Participant)
	case *tx.StartEpoch:
		s.move(height, t, body.Participant)
	case *tx.Evidence:
		s.punish(height, t, body)
	}
}

// move proposes what its sender approves by proposing it.
func (s *State) move(height uint64, t *tx.Tx, by uint32) {
	s.evictProposal(by)
	s.propose(height, t, []uint32{by}, s.passes(1))
}

// checkSender is M3, M4 and M8: an active participant signed, and not before.
func (s *State) checkSender(t *tx.Tx, index uint32) (*Participant, error) {
	p := s.participant(index)
	if p == nil {
		return nil, fmt.Errorf("%w: participant %d, %d are registered", ErrSender, index, len(s.Participants))
	}
	if err := t.Verify(s.ChainID, p.PubKey); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOperationSigned, err)
	}
	return p, checkNonce(p, t.Body)
}

// fork is a copy to be changed, with the slices that changes go to its own.
func (s *State) fork(height uint64) *State {
	next := *s
	next.Height = height
	next.Participants = append([]Participant(nil), s.Participants...)
	next.Proposals = append([]Proposal(nil), s.Proposals...)
	next.Offences = s.Offences[:len(s.Offences):len(s.Offences)]
	next.Epochs = s.Epochs[:len(s.Epochs):len(s.Epochs)]
	return &next
}
