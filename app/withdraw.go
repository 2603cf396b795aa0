package app

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Lifetime is the number of heights for which a proposal waits for enough approvals: with one block a
// second, 12 days. Accepted proposals do not expire.
const Lifetime = 1 << 20

// Discard describes a proposal that was removed from the state, withdrawn or expired.
type Discard struct {
	Kind     tx.Kind
	Proposal []byte // the proposal's id
	By       *tx.Tx // the Withdraw that ended the proposal, nil if the proposal has expired
}

// Cause returns "expired" or "withdrawn".
func (d Discard) Cause() string {
	if d.By == nil {
		return "expired"
	}
	return "withdrawn"
}

// withdrawOp takes back its sender's approval of a proposal.
type withdrawOp struct{ *tx.Withdraw }

func (w withdrawOp) sender() sender { return approverSender(w.Participant, w.Proposal) }

// check rejects a withdrawal that was signed before one of its sender's approvals was revoked (M9). It also rejects
// (M5) a withdrawal from a proposal that is not in the state, is accepted, or does not have the sender's approval.
func (w withdrawOp) check(s *State) error {
	if err := s.checkRevocations(w.Participant, w.Revocations); err != nil {
		return err
	}
	p := s.proposal(w.Proposal)
	switch {
	case p == nil:
		return fmt.Errorf("%w: no proposal %X waits at height %d, of %d", ErrProposal, w.Proposal, s.Height, len(s.Proposals))
	case p.Accepted:
		return fmt.Errorf("%w: %X is accepted already at height %d, approved by participants %v", ErrProposal, w.Proposal,
			s.Height, p.Approvals)
	case !slices.Contains(p.Approvals, w.Participant):
		return fmt.Errorf("%w: participant %d has not approved %X, approved by participants %v at height %d", ErrProposal,
			w.Participant, w.Proposal, p.Approvals, s.Height)
	}
	return nil
}

// apply removes the approval. It discards a proposal that has no other approval of an active participant. It also
// discards a weak proposal (isWeak) if its first approver then has more than maxProposals weak proposals: otherwise two
// participants could approve and withdraw in turns, and fill the state.
func (w withdrawOp) apply(s *State, t *tx.Tx) {
	at := slices.IndexFunc(s.Proposals, func(p Proposal) bool { return bytes.Equal(p.Id, w.Proposal) })
	p := &s.Proposals[at]
	p.Approvals = slices.DeleteFunc(slices.Clone(p.Approvals), func(i uint32) bool { return i == w.Participant })
	s.Participants[w.Participant].Revocations++
	if s.standing(p) == 0 || s.isWeak(*p, p.Approvals[0]) && s.weak(p.Approvals[0]) > maxProposals {
		s.discard(func(q Proposal) bool { return bytes.Equal(q.Id, w.Proposal) }, t)
	}
}

func (w withdrawOp) describe() Description {
	return Description{
		Summary:    fmt.Sprintf("withdrawal of the approval of %d", w.Participant),
		Attributes: []Attribute{{"proposal", hex.EncodeToString(w.Proposal)}},
	}
}

// checkRevocations returns ErrRevoked if revocations, the number in an approval, is not the number in
// the state of its sender's revocations. The number in the state rises when an approval is taken
// back, so nobody can send the old one again. The participant with the given index must be active.
func (s *State) checkRevocations(index uint32, revocations uint64) error {
	if have := s.Participants[index].Revocations; revocations != have {
		return fmt.Errorf("%w: %d, participant %d has %d at height %d: sign again", ErrRevoked, revocations, index, have,
			s.Height)
	}
	return nil
}

// discard removes the selected proposals. by is the Withdraw that ended them, or nil if they
// expired. discard adds a revocation to every approver: a Join has no nonce, so without the
// revocation anybody could send the Join and an old approval again.
func (s *State) discard(selects func(Proposal) bool, by *tx.Tx) {
	s.Proposals = slices.DeleteFunc(s.Proposals, func(p Proposal) bool {
		if !selects(p) {
			return false
		}
		for _, index := range p.Approvals {
			if approver := s.participant(index); approver != nil {
				approver.Revocations++
			}
		}
		s.discarded = append(s.discarded, Discard{Kind: tx.Kind(p.Kind), Proposal: p.Id, By: by})
		return true
	})
}

// Expires returns the height whose block discards the proposal if the proposal is not accepted by then.
func (p *Proposal) Expires() uint64 { return p.Height + Lifetime }

func (p *Proposal) isExpired(height uint64) bool { return !p.Accepted && height >= p.Expires() }

// hasExpired reports whether a block at the given height discards a proposal.
func (s *State) hasExpired(height uint64) bool {
	return slices.ContainsFunc(s.Proposals, func(p Proposal) bool { return p.isExpired(height) })
}

// expire discards the proposals that have expired.
func (s *State) expire() { s.discard(func(p Proposal) bool { return p.isExpired(s.Height) }, nil) }
