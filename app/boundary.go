package app

import (
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Enactment is the result of the attempt to enact one accepted proposal at a round boundary (O5).
type Enactment struct {
	Kind tx.Kind
	// Participant is the participant that joined, left, rotated its keys or was restored, or the
	// proposer of the epoch or upgrade.
	Participant uint32
	Proposal    []byte // the proposal's id
	Refused     error  // the reason why the proposal was not enacted; nil if the proposal was enacted
}

// stallViews sets when an open round counts as stalled: stallViews*view_blocks heights after the end
// of its last view. A block then enacts accepted proposals although the round is open, because the
// round may be unable to close without them.
const stallViews = 4

// isStalled reports whether the open round is stalled at the given height: stallViews*view_blocks
// heights have passed since the end of its last view.
func (s *State) isStalled(height uint64) bool {
	e := s.Params.Election
	return !s.Finished() && height >= s.Progress.Opened+e.QuorumBlocks+e.ViewBlocks*uint64(len(s.Progress.Ranking)+2+
		stallViews)
}

// isBoundaryDue reports whether a round boundary would change the state: it would remove a validator
// or enact a proposal.
func (s *State) isBoundaryDue() bool {
	return len(s.toJail()) > 0 || slices.ContainsFunc(s.Proposals, func(p Proposal) bool {
		s.count(&p)
		return p.Accepted && p.operation().isReady(s)
	})
}

// crossBoundary does the work of a round boundary: between two rounds, in any block after training
// has finished, and in a block of a stalled round. It removes the validators that toJail names,
// enacts the accepted proposals, and drops the proposals that can no longer be enacted. Proposals
// are enacted in the order of their arrival, each on the state that the previous proposal left.
func (s *State) crossBoundary() []Enactment {
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
		if !p.Accepted || !op.isReady(s) {
			kept = append(kept, p)
			continue
		}
		e := Enactment{Kind: tx.Kind(p.Kind), Proposal: p.Id}
		e.Participant, e.Refused = op.execute(s)
		enacted = append(enacted, e)
	}
	kept = slices.DeleteFunc(kept, s.isObsolete)
	s.Proposals = kept
	s.Progress.Ranking = slices.DeleteFunc(slices.Clone(s.Progress.Ranking),
		func(index uint32) bool { return s.participant(index) == nil })
	return enacted
}

// isObsolete reports whether a proposal can no longer be enacted: it has lost its support
// (isDeserted), or its operation has become impossible.
func (s *State) isObsolete(p Proposal) bool {
	op := p.operation()
	return !p.Accepted && s.isDeserted(p, op.sender()) || op.isObsolete(s)
}

// isDeserted reports whether a proposal has lost its support: the member that proposed it has left,
// or all approvers have left.
func (s *State) isDeserted(p Proposal, proposer sender) bool {
	gone := func(index uint32) bool { return s.participant(index) == nil }
	return proposer.auth == authMember && gone(proposer.index) ||
		len(p.Approvals) > 0 && !slices.ContainsFunc(p.Approvals, func(index uint32) bool { return !gone(index) })
}
