package app

import (
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Enactment is the result of a round boundary for one accepted proposal.
type Enactment struct {
	Kind tx.Kind
	// the participant that joined, left, rotated its keys or was restored, or the proposer of the
	// epoch or upgrade
	Participant uint32
	Proposal    []byte
	Refused     error // the reason why the proposal was not enacted; nil if it was
}

// stallViews is the number of further views whose time must pass after the last view before an open
// round counts as stalled. A stalled round has a boundary although it is open, because it may need
// the accepted proposals to close.
const stallViews = 4

// stalled reports whether all views of the open round, and stallViews more, are over at a height.
func (s *State) stalled(height uint64) bool {
	e := s.Params.Election
	return !s.Finished() && height >= s.Progress.Opened+e.QuorumBlocks+e.ViewBlocks*uint64(len(s.Progress.Ranking)+2+
		stallViews)
}

// due reports whether a boundary would change the state: it would remove a validator or execute a
// waiting proposal.
func (s *State) due() bool {
	return len(s.toJail()) > 0 || slices.ContainsFunc(s.Proposals, func(p Proposal) bool {
		s.count(&p)
		return p.Accepted && p.operation().ready(s)
	})
}

// boundary runs between two rounds, in any block after training has finished, and in a block of a
// stalled round. It removes the validators that toJail names, enacts the accepted proposals, and
// drops expired ones. It takes the proposals in the order of their arrival, and checks each against
// the state that the previous one left.
func (s *State) boundary() []Enactment {
	for _, index := range s.toJail() {
		s.Participants[index] = s.Participants[index].withoutValidator(s.Height)
	}
	var enacted []Enactment
	var kept []Proposal
	all := s.Proposals
	s.Proposals = nil // execute must not see the other waiting proposals
	for i := range all {
		p := all[i]
		s.count(&p)
		op := p.operation()
		if !p.Accepted || !op.ready(s) {
			kept = append(kept, p)
			continue
		}
		e := Enactment{Kind: tx.Kind(p.Kind), Proposal: p.Id}
		e.Participant, e.Refused = op.execute(s)
		enacted = append(enacted, e)
	}
	kept = slices.DeleteFunc(kept, s.expired)
	s.Proposals = kept
	s.Progress.Ranking = slices.DeleteFunc(slices.Clone(s.Progress.Ranking),
		func(index uint32) bool { return s.participant(index) == nil })
	return enacted
}

// expired reports whether a proposal that still waits after a boundary can never be enacted.
func (s *State) expired(p Proposal) bool {
	op := p.operation()
	return !p.Accepted && s.deserted(p, op.sender()) || op.expired(s)
}

// deserted reports whether p has lost its support: its proposer, which is the sender from, has
// left, or all its approvers have left.
func (s *State) deserted(p Proposal, from sender) bool {
	gone := func(index uint32) bool { return s.participant(index) == nil }
	return from.auth == authMember && gone(from.index) ||
		len(p.Approvals) > 0 && !slices.ContainsFunc(p.Approvals, func(index uint32) bool { return !gone(index) })
}
