package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// presentOp says that a resting participant is back: the round after the open one waits for it. With
// k strikes a participant may say so once in 2^k rounds. So a participant that is back for good is
// in the next round, and one that is late again costs at most two waits for each strike.
type presentOp struct{ *tx.Present }

func (p presentOp) sender() sender { return memberSender(p.Participant, p.Nonce) }

// check accepts every Present: whether it has an effect may change with the round that its block
// closes.
func (p presentOp) check(*State) error { return nil }

// MayPresent reports whether a Present would let the round after the open one wait for the
// participant.
func (s *State) MayPresent(p *Participant) bool {
	return p.Rests > s.history.size+1 && (p.Presented == 0 || s.history.size+1 >= p.Presented+1<<p.Strikes)
}

func (p presentOp) apply(s *State, _ *tx.Tx) {
	who, at := &s.Participants[p.Participant], s.Progress
	if p.Epoch == at.Epoch && p.Round >= max(at.Round, 1)-1 && s.MayPresent(who) {
		who.Rests, who.Presented = s.history.size+1, s.history.size+1
	}
}

func (p presentOp) describe() Description {
	return Description{Summary: fmt.Sprintf("%d is back", p.Participant),
		Attributes: []Attribute{{"round", number(p.Round)}}}
}
