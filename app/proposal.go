package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// These limits hold for the proposals in the state. If a limit is reached, evict drops a proposal
// before a new proposal is added.
const (
	maxRequests  = 64 // outsiders' proposals without an approval
	maxProposals = 4  // unaccepted proposals that one participant proposed, or was the first to approve
)

// hasMajority reports whether a number of approvals is enough to accept a proposal: more than two
// thirds of the active participants.
func (s *State) hasMajority(approvals int) bool { return 3*approvals > 2*s.Active() }

// Threshold returns the min number of approvals that is enough to accept a proposal.
func (s *State) Threshold() int { return 2*s.Active()/3 + 1 }

// addRequest adds an outsider's proposal, which needs approvals.
func (s *State) addRequest(op enactable, t *tx.Tx) {
	s.evict(maxRequests, func(p Proposal) bool { return !p.Accepted && len(p.Approvals) == 0 })
	s.enqueue(op, t, nil, false)
}

// propose adds a participant's proposal, which needs approvals. The proposer's own approval is the first.
func (s *State) propose(op enactable, t *tx.Tx) {
	by := op.sender().index
	s.evictProposal(by)
	s.enqueue(op, t, []uint32{by}, s.hasMajority(1))
}

// decide adds a proposal that concerns only its sender. The proposal is accepted without approvals,
// and the next boundary enacts it.
func (s *State) decide(op enactable, t *tx.Tx) { s.enqueue(op, t, nil, true) }

// enqueue appends an operation to the proposals. The unnamed parameter has no use at run time: it
// makes the compiler check that the operation is enactable.
func (s *State) enqueue(_ enactable, t *tx.Tx, approvals []uint32, accepted bool) {
	id := t.ID()
	s.Proposals = append(s.Proposals, Proposal{
		Id: id[:], Kind: uint32(t.Kind()), Content: mustMarshal(t.Body), Height: s.Height, Approvals: approvals,
		Accepted: accepted,
	})
}

// decode decodes the operation of a proposal. It fails if the content is not that of an enactable operation.
func (p *Proposal) decode() (enactable, error) {
	kind := tx.Kind(p.Kind)
	body, err := tx.DecodeBody(kind, p.Content)
	if err != nil {
		return nil, err
	}
	op, err := operationOf(kind, body)
	if err != nil {
		return nil, err
	}
	e, ok := op.(enactable)
	if !ok {
		return nil, fmt.Errorf("%w: a %s does not wait", ErrProposal, kind)
	}
	return e, nil
}

// operation returns the decoded operation of a proposal that the state holds.
func (p *Proposal) operation() enactable {
	op, err := p.decode()
	if err != nil {
		panic(err) // decode has succeeded before: on arrival, or when the state was decoded
	}
	return op
}

// proposal returns the proposal with the given id, or nil if the state has no such proposal.
func (s *State) proposal(id []byte) *Proposal {
	for i := range s.Proposals {
		if bytes.Equal(s.Proposals[i].Id, id) {
			return &s.Proposals[i]
		}
	}
	return nil
}

// standing returns the number of a proposal's approvals by participants that are still active. Only
// these approvals count.
func (s *State) standing(p *Proposal) int {
	standing := 0
	for _, index := range p.Approvals {
		if s.participant(index) != nil {
			standing++
		}
	}
	return standing
}

// count marks a proposal as accepted if enough active participants have approved it.
func (s *State) count(p *Proposal) {
	standing := s.standing(p)
	p.Accepted = p.Accepted || standing > 0 && s.hasMajority(standing)
}

// forEachProposal calls visit for each proposal whose operation is a T, until visit returns false.
func forEachProposal[T any](s *State, visit func(p *Proposal, op T) bool) {
	for i := range s.Proposals {
		if op, ok := s.Proposals[i].operation().(T); ok && !visit(&s.Proposals[i], op) {
			return
		}
	}
}

// evictProposal makes room for a proposal that the given participant makes, or is the first to
// approve. If the participant is already the first approver of maxProposals proposals,
// evictProposal drops one of these. It ignores accepted proposals, and proposals with more than f
// approvals, because at least one honest participant has approved each of them.
func (s *State) evictProposal(index uint32) {
	s.evict(maxProposals, func(p Proposal) bool { return s.isWeak(p, index) })
}

// isWeak reports whether the proposal p is weak for the participant with the given index: p is not
// accepted, has at most max(1, f) approvals, and the first of them is that participant's.
func (s *State) isWeak(p Proposal, index uint32) bool {
	return !p.Accepted && len(p.Approvals) > 0 && len(p.Approvals) <= max(1, s.F()) && p.Approvals[0] == index
}

// weak returns the number of weak proposals (isWeak) whose first approver is the participant.
func (s *State) weak(index uint32) int {
	n := 0
	for _, p := range s.Proposals {
		if s.isWeak(p, index) {
			n++
		}
	}
	return n
}

// evict drops one proposal if isSelected holds for at least limit proposals. It drops the selected
// proposal with the fewest approvals. If several have equally few, it drops the oldest of them.
func (s *State) evict(limit int, isSelected func(Proposal) bool) {
	waiting, out := 0, -1
	for i, p := range s.Proposals {
		if !isSelected(p) {
			continue
		}
		if waiting++; out < 0 || len(p.Approvals) < len(s.Proposals[out].Approvals) {
			out = i
		}
	}
	if waiting >= limit {
		s.Proposals = slices.Delete(s.Proposals, out, out+1)
	}
}
