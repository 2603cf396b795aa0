package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Limits of the waiting proposals: evict drops one to add another.
const (
	maxRequests  = 64 // requests that nobody has approved
	maxProposals = 4  // proposals, not accepted yet, that one participant proposed or approved first
)

// hasMajority reports whether a number of approvals passes a proposal: more than two thirds of the
// active participants.
func (s *State) hasMajority(approvals int) bool { return 3*approvals > 2*s.Active() }

// Threshold returns the min number of approvals that passes a proposal.
func (s *State) Threshold() int { return 2*s.Active()/3 + 1 }

// request lets an outsider's proposal wait for approvals.
func (s *State) request(op enactable, t *tx.Tx) {
	s.evict(maxRequests, func(p Proposal) bool { return !p.Accepted && len(p.Approvals) == 0 })
	s.enqueue(op, t, nil, false)
}

// propose lets a proposal wait for approvals. Its sender approves it by proposing it.
func (s *State) propose(op enactable, t *tx.Tx) {
	by := op.sender().index
	s.evictProposal(by)
	s.enqueue(op, t, []uint32{by}, s.hasMajority(1))
}

// decide lets a proposal that concerns its sender alone, and needs no approval, wait for the
// boundary.
func (s *State) decide(op enactable, t *tx.Tx) { s.enqueue(op, t, nil, true) }

// enqueue appends an operation to the proposals. Its first parameter is unused: it makes the
// compiler check that the operation is enactable.
func (s *State) enqueue(_ enactable, t *tx.Tx, approvals []uint32, accepted bool) {
	id := t.ID()
	s.Proposals = append(s.Proposals, Proposal{
		Id: id[:], Kind: uint32(t.Kind()), Content: mustMarshal(t.Body), Height: s.Height, Approvals: approvals,
		Accepted: accepted,
	})
}

// decode decodes the operation of a proposal.
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

// operation returns the operation of a proposal in a state.
func (p *Proposal) operation() enactable {
	op, err := p.decode()
	if err != nil {
		panic(err) // it was decoded when it arrived, or when the state was
	}
	return op
}

// proposal returns the waiting proposal with an id, or nil.
func (s *State) proposal(id []byte) *Proposal {
	for i := range s.Proposals {
		if bytes.Equal(s.Proposals[i].Id, id) {
			return &s.Proposals[i]
		}
	}
	return nil
}

// count accepts a proposal if enough of its approvers are still active.
func (s *State) count(p *Proposal) {
	standing := 0
	for _, index := range p.Approvals {
		if s.participant(index) != nil {
			standing++
		}
	}
	p.Accepted = p.Accepted || standing > 0 && s.hasMajority(standing)
}

// waiting visits the proposals whose operation is a T; the visitor returns
// false to end.
func waiting[T any](s *State, visit func(p *Proposal, op T) bool) {
	for i := range s.Proposals {
		if op, ok := s.Proposals[i].operation().(T); ok && !visit(&s.Proposals[i], op) {
			return
		}
	}
}

// evictProposal drops a proposal, if necessary, before a participant proposes one or is the first
// to approve one. A proposal that more than f participants approve has an honest supporter: it does
// not count against that participant any more, and is not evicted.
func (s *State) evictProposal(index uint32) {
	few := max(1, s.F())
	s.evict(maxProposals, func(p Proposal) bool {
		return !p.Accepted && len(p.Approvals) > 0 && len(p.Approvals) <= few && p.Approvals[0] == index
	})
}

// evict drops one of the waiting proposals that sort selects if there are most or more of them: the
// one with the fewest approvals, or the oldest of these.
func (s *State) evict(most int, sort func(Proposal) bool) {
	waiting, out := 0, -1
	for i, p := range s.Proposals {
		if !sort(p) {
			continue
		}
		if waiting++; out < 0 || len(p.Approvals) < len(s.Proposals[out].Approvals) {
			out = i
		}
	}
	if waiting >= most {
		s.Proposals = slices.Delete(s.Proposals, out, out+1)
	}
}
