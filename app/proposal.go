package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Limits on the waiting proposals. At a limit evict drops one proposal before another is added.
const (
	maxRequests  = 64 // requests that nobody has approved
	maxProposals = 4  // proposals that one participant proposed or approved first, and that are not accepted yet
)

// hasMajority reports whether a number of approvals passes a proposal: more than two thirds of the
// active participants.
func (s *State) hasMajority(approvals int) bool { return 3*approvals > 2*s.Active() }

// Threshold returns the min number of approvals that passes a proposal.
func (s *State) Threshold() int { return 2*s.Active()/3 + 1 }

// request adds an outsider's proposal, which waits for approvals.
func (s *State) request(op enactable, t *tx.Tx) {
	s.evict(maxRequests, func(p Proposal) bool { return !p.Accepted && len(p.Approvals) == 0 })
	s.enqueue(op, t, nil, false)
}

// propose adds a proposal of a participant, which waits for approvals and has its sender's.
func (s *State) propose(op enactable, t *tx.Tx) {
	by := op.sender().index
	s.evictProposal(by)
	s.enqueue(op, t, []uint32{by}, s.hasMajority(1))
}

// decide adds a proposal that concerns its sender alone: it needs no approval, and only waits for
// the boundary.
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
		panic(err) // the operation was decoded before, on arrival or when the state was decoded
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

// evictProposal makes room before a participant makes a proposal, or approves one as the first. It
// drops one of the proposals that count against that participant, if there are too many. A proposal
// with more than f approvals has an honest supporter: it no longer counts, and is never dropped.
func (s *State) evictProposal(index uint32) {
	few := max(1, s.F())
	s.evict(maxProposals, func(p Proposal) bool {
		return !p.Accepted && len(p.Approvals) > 0 && len(p.Approvals) <= few && p.Approvals[0] == index
	})
}

// evict drops one of the waiting proposals that sort selects if their number is at least most: the
// one with the fewest approvals, or the oldest of several.
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
