package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// leave is a participant's own departure, which needs no approval.
type leave struct{ *tx.Leave }

func (l leave) sender() sender { return member(l.Participant, l.Nonce) }

// check is M5 and M6.
func (l leave) check(s *State) error {
	err := s.mayDepart(l.Participant)
	waiting(s, func(_ *Proposal, other leave) bool {
		if other.Participant == l.Participant {
			err = fmt.Errorf("%w: participant %d is leaving already", ErrProposal, l.Participant)
		}
		return err == nil
	})
	return err
}

func (l leave) apply(s *State, t *tx.Tx) { s.decide(l, t) }

func (l leave) ripe(*State) bool { return true }

func (l leave) enact(s *State) (uint32, error) { return l.Participant, s.depart(l.Participant) }

func (l leave) stale(s *State) bool { return s.participant(l.Participant) == nil }

func (l leave) describe() Description {
	return Description{Summary: fmt.Sprintf("leave of %d", l.Participant)}
}
