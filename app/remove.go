package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// removeOp ends a participant's membership. A participant may remove itself without approvals; the
// removal of another participant needs approvals.
type removeOp struct{ *tx.Remove }

func (r removeOp) sender() sender { return memberAbout(r.Subject, r.Participant, r.Nonce) }

// check rejects a second removal of a participant whose removal is accepted (M5), and a removal
// that checkPossible rejects.
func (r removeOp) check(s *State) error {
	if s.departingIndices()[r.Subject] {
		return fmt.Errorf("%w: participant %d is leaving already", ErrProposal, r.Subject)
	}
	return r.checkPossible(s)
}

func (r removeOp) isOwn() bool { return r.Subject == r.Participant }

func (r removeOp) apply(s *State, t *tx.Tx) {
	if r.isOwn() {
		s.decide(r, t)
	} else {
		s.propose(r, t)
	}
}

func (r removeOp) isReady(*State) bool { return true }

func (r removeOp) execute(s *State) (uint32, error) {
	if err := r.checkPossible(s); err != nil {
		return r.Subject, err
	}
	s.Participants[r.Subject] = s.Participants[r.Subject].withoutValidator(s.Height)
	s.Participants[r.Subject].Active = false
	return r.Subject, nil
}

func (r removeOp) isObsolete(s *State) bool { return s.participant(r.Subject) == nil }

func (r removeOp) describe() Description {
	if r.isOwn() {
		return Description{Summary: fmt.Sprintf("leave of %d", r.Participant)}
	}
	return Description{Summary: fmt.Sprintf("%d proposes to remove %d", r.Participant, r.Subject)}
}

// departingIndices returns the set of the participants whose removal is accepted but not yet
// enacted. A round boundary (O5) enacts the removal.
func (s *State) departingIndices() map[uint32]bool {
	out := map[uint32]bool{}
	forEachProposal(s, func(p *Proposal, r removeOp) bool {
		if p.Accepted {
			out[r.Subject] = true
		}
		return true
	})
	return out
}

// checkPossible rejects the removal of a participant that is not active (M3). It also rejects a
// removal (M6) if, after this removal and all accepted removals, the rule is not feasible for the
// remaining participants, or none of them has a validator.
func (r removeOp) checkPossible(s *State) error {
	if s.participant(r.Subject) == nil {
		return fmt.Errorf("%w: participant %d is not active", ErrSender, r.Subject)
	}
	leaving := s.departingIndices()
	leaving[r.Subject] = true
	validators := 0
	for i := range s.Participants {
		if p := &s.Participants[i]; p.Active && !leaving[p.Index] && len(p.ConsensusKey) > 0 {
			validators++
		}
	}
	if validators == 0 {
		return fmt.Errorf("%w: participant %d runs the last validator", ErrInfeasible, r.Subject)
	}
	return s.checkFeasible(s.Active() - len(leaving))
}
