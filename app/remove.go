package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// remove proposes to end a participant's membership.
type remove struct{ *tx.Remove }

func (r remove) sender() sender { return memberAbout(r.Subject, r.Participant, r.Nonce) }

func (r remove) check(s *State) error { return s.mayDepart(r.Subject) }

func (r remove) apply(s *State, t *tx.Tx) { s.propose(r, t) }

func (r remove) ripe(*State) bool { return true }

func (r remove) enact(s *State) (uint32, error) { return r.Subject, s.depart(r.Subject) }

func (r remove) stale(s *State) bool { return s.participant(r.Subject) == nil }

func (r remove) describe() Description {
	return Description{Summary: fmt.Sprintf("%d proposes to remove %d", r.Participant, r.Subject)}
}

// mayDepart is M3 on the subject, and M6: the rule must be feasible with one
// less, departures that wait counted, and one validator must stay.
func (s *State) mayDepart(index uint32) error {
	p := s.participant(index)
	if p == nil {
		return fmt.Errorf("%w: participant %d is not active", ErrSender, index)
	}
	leaving := map[uint32]bool{index: true}
	waiting(s, func(_ *Proposal, l leave) bool { leaving[l.Participant] = true; return true })
	waiting(s, func(p *Proposal, r remove) bool {
		if p.Accepted {
			leaving[r.Subject] = true
		}
		return true
	})
	validators := 0
	for i := range s.Participants {
		if q := &s.Participants[i]; q.Active && !leaving[q.Index] && len(q.ConsensusKey) > 0 {
			validators++
		}
	}
	if validators == 0 {
		return fmt.Errorf("%w: participant %d runs the last validator", ErrInfeasible, index)
	}
	return s.feasible(s.Active() - len(leaving))
}

func (s *State) depart(index uint32) error {
	if err := s.mayDepart(index); err != nil {
		return err
	}
	s.Participants[index].Active = false
	return nil
}
