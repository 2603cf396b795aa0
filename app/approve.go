package app

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// approveOp is an active participant's approval of a proposal.
type approveOp struct {
	*tx.Approve
	decodeJoin func() (*tx.Tx, error) // decodes the Join that the approval carries, if any
}

func (a approveOp) sender() sender { return approverSender(a.Participant, a.Proposal) }

// check rejects an approval that was signed before one of its sender's approvals was revoked (M9). It also rejects (M5)
// an approval of an accepted proposal, a second one of the same participant, and one of a proposal that is not in the
// state. An approval that carries the Join of its proposal is an exception to the last rule: apply adds that proposal.
func (a approveOp) check(s *State) error {
	if err := s.checkRevocations(a.Participant, a.Revocations); err != nil {
		return err
	}
	p := s.proposal(a.Proposal)
	switch {
	case p == nil && len(a.Join) > 0:
		_, err := a.carriedJoin(s)
		return err
	case p == nil:
		return fmt.Errorf("%w: no proposal %X waits, of %d", ErrProposal, a.Proposal, len(s.Proposals))
	case p.Accepted:
		return fmt.Errorf("%w: %X is accepted already", ErrProposal, a.Proposal)
	case slices.Contains(p.Approvals, a.Participant):
		return fmt.Errorf("%w: participant %d has approved %X already", ErrProposal, a.Participant, a.Proposal)
	}
	return nil
}

// carriedJoin returns the Join that the approval carries, or an error if that Join is not valid.
func (a approveOp) carriedJoin(s *State) (*tx.Tx, error) {
	t, err := a.decodeJoin()
	if err != nil {
		return nil, fmt.Errorf("%w: the join brought along: %w", ErrProposal, err)
	}
	if id := t.ID(); t.Kind() != tx.KindJoin || !bytes.Equal(id[:], a.Proposal) {
		return nil, fmt.Errorf("%w: what is brought along is the %s %X, approved is %X", ErrProposal, t.Kind(), id,
			a.Proposal)
	}
	return t, s.checkOperation(t)
}

// apply counts the approval. If it carries a Join that is not in the state, apply first adds that Join as a proposal.
func (a approveOp) apply(s *State, _ *tx.Tx) {
	if len(a.Join) > 0 && s.proposal(a.Proposal) == nil {
		t, err := a.carriedJoin(s)
		if err != nil {
			panic(err) // check has accepted this Join
		}
		s.enqueue(joinOp{t.Body.(*tx.Join)}, t, nil, false)
	}
	p := s.proposal(a.Proposal)
	if len(p.Approvals) == 0 {
		s.evictProposal(a.Participant)
		p = s.proposal(a.Proposal)
	}
	p.Approvals = append(slices.Clone(p.Approvals), a.Participant)
	s.count(p)
}

func (a approveOp) describe() Description {
	return Description{
		Summary:    fmt.Sprintf("approval of %d", a.Participant),
		Attributes: []Attribute{{"proposal", hex.EncodeToString(a.Proposal)}},
	}
}
