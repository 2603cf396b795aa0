package app

import (
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Enactment reports what a round boundary did with an accepted proposal.
type Enactment struct {
	Kind        tx.Kind
	Participant uint32 // who joined, left, rotated, or was restored; who proposed an epoch
	Proposal    []byte
	Refused     error // why it could not be enacted after all
}

// stallViews is the number of views beyond the last one after which accepted proposals are enacted
// although the round is still open: it may need them to close.
const stallViews = 4

// stalled reports whether the open round has had its time at a height.
func (s *State) stalled(height uint64) bool {
	e := s.Params.Election
	return !s.Finished() && height >= s.Progress.Opened+e.QuorumBlocks+e.ViewBlocks*uint64(len(s.Progress.Ranking)+2+stallViews)
}

// due reports whether a boundary would take a validator away or enact a proposal that waits.
func (s *State) due() bool {
	return len(s.unseats()) > 0 || slices.ContainsFunc(s.Proposals, func(p Proposal) bool {
		s.count(&p)
		return p.Accepted && p.operation().ripe(s)
	})
}

// boundary enacts the accepted proposals in the order of their arrival, each judged against the
// state that the one before it left, and drops waiting proposals that have become pointless. It
// runs between two rounds, in any block after training has finished, and when a round has stalled.
func (s *State) boundary() []Enactment {
	for _, index := range s.unseats() {
		s.Participants[index] = s.Participants[index].unseated(s.Height)
	}
	var enacted []Enactment
	var kept []Proposal
	all := s.Proposals
	s.Proposals = nil // a proposal is judged without those that wait beside it
	for i := range all {
		p := all[i]
		s.count(&p)
		op := p.operation()
		if !p.Accepted || !op.ripe(s) {
			kept = append(kept, p)
			continue
		}
		e := Enactment{Kind: tx.Kind(p.Kind), Proposal: p.Id}
		e.Participant, e.Refused = op.enact(s)
		enacted = append(enacted, e)
	}
	kept = slices.DeleteFunc(kept, s.stale)
	s.Proposals = kept
	s.Progress.Ranking = slices.DeleteFunc(slices.Clone(s.Progress.Ranking), func(index uint32) bool { return s.participant(index) == nil })
	return enacted
}

// stale reports whether a proposal that a boundary leaves to wait cannot pass
// any more.
func (s *State) stale(p Proposal) bool {
	op := p.operation()
	return !p.Accepted && s.deserted(p, op.sender()) || op.stale(s)
}

// deserted reports whether the participant that proposed it has left, or all that approved it have.
func (s *State) deserted(p Proposal, from sender) bool {
	gone := func(index uint32) bool { return s.participant(index) == nil }
	return from.by == byMember && gone(from.index) ||
		len(p.Approvals) > 0 && !slices.ContainsFunc(p.Approvals, func(index uint32) bool { return !gone(index) })
}
