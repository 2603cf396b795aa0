package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// restoreOp proposes to raise a participant's reputation from 0 to the initial reputation.
type restoreOp struct{ *tx.Restore }

func (r restoreOp) sender() sender { return memberAbout(r.Subject, r.Participant, r.Nonce) }

// check rejects a Restore if its subject is not an active participant (M3), or has a reputation above 0 (M5).
func (r restoreOp) check(s *State) error {
	switch p := s.participant(r.Subject); {
	case p == nil:
		return fmt.Errorf("%w: participant %d is not active", ErrSender, r.Subject)
	case p.Reputation != 0:
		return fmt.Errorf("%w: participant %d has a reputation above 0, only 0 is restored", ErrProposal, r.Subject)
	}
	return nil
}

func (r restoreOp) apply(s *State, t *tx.Tx) { s.propose(r, t) }

func (r restoreOp) isReady(*State) bool { return true }

// execute sets the participant's reputation to the initial value, and settles all its earlier offences.
func (r restoreOp) execute(s *State) (uint32, error) {
	if err := r.check(s); err != nil {
		return r.Subject, err
	}
	p := &s.Participants[r.Subject]
	p.Reputation = s.Params.Reputation.Initial
	p.SettledEpoch, p.SettledRound, p.SettledHeight = s.Progress.Epoch, s.Progress.Round, s.Height
	return r.Subject, nil
}

func (r restoreOp) isObsolete(s *State) bool { return r.check(s) != nil }

func (r restoreOp) describe() Description {
	return Description{Summary: fmt.Sprintf("%d proposes to restore %d", r.Participant, r.Subject)}
}
