package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// Rounds wait for every participant that is not resting (A5). A round that waited for a participant in vain gives
// it a strike, and the participant rests: the next 2^strikes rounds do not wait for it. So f participants cost an
// epoch of T rounds at most f log2(T) waits, in whatever rounds they are late, until strikes reaches maxStrikes.
//
// A strike needs a reason that no coalition of f can make up: the participant has no commitment
// although quorum_blocks heights, with an honest proposer among them, passed since N-f participants
// had one; or f+1 participants, one of which is honest, observed that it was late (judgePrevious).
const maxStrikes = 10

// isResting reports whether rounds close without waiting for the participant.
func (s *State) isResting(p *Participant) bool { return p.Rests > s.history.size }

// IsResting reports whether the participant with the given index is resting. It returns false if
// there is no such participant.
func (s *State) IsResting(index uint32) bool {
	return uint64(index) < uint64(len(s.Participants)) && s.isResting(&s.Participants[index])
}

// RestEnds returns the first round of the epoch that waits again for a resting participant. The
// result may exceed the epoch's number of rounds. ok reports whether the participant rests.
func (s *State) RestEnds(index uint32) (round uint64, ok bool) {
	if !s.IsResting(index) {
		return 0, false
	}
	return s.Progress.Round + s.Participants[index].Rests - s.history.size, true
}

// strike adds a strike to the participant, for the open round or the one before. s is the state
// before the open round closes.
func (s *State) strike(p *Participant) {
	p.Strikes = min(p.Strikes+1, maxStrikes)
	p.Rests = s.history.size + 1 + 1<<p.Strikes
}

// isRequired reports whether the open round needs the participant's gradient to close before its
// quorum height (A5). It ignores commitments; isRequiredNow considers them.
func (s *State) isRequired(p *Participant) bool { return s.isContributor(p) && !s.isResting(p) }

// isRequiredNow reports whether the current phase of the round waits for the participant: the
// commit phase for its commitment, the reveal phase for the gradient that it committed to.
func (s *State) isRequiredNow(p *Participant) bool {
	if s.Params.Election.CommitReveal && s.Progress.Revealing != (s.Commitment(p.Index) != nil) {
		return false
	}
	return s.isRequired(p)
}

// Required reports whether the current phase of the open round waits for the participant.
func (s *State) Required(index uint32) bool {
	return uint64(index) < uint64(len(s.required)) && s.required[index]
}

// MissingRequired returns the number of required participants that are not in present. present lists the participants
// whose gradients the caller has. In the commit phase it lists the participants whose commitments the caller has.
func (s *State) MissingRequired(present []uint32) int {
	if len(present) == 0 {
		return s.requiredCount
	}
	has := make([]bool, len(s.Participants))
	for _, index := range present {
		if uint64(index) < uint64(len(has)) {
			has[index] = true
		}
	}
	n := 0
	for i, awaited := range s.required {
		if awaited && !has[i] {
			n++
		}
	}
	return n
}

// mayCloseWith returns ErrTooFewIncluded if the open round may not close at the given height with the gradients of the
// included participants (A5). With the gradients of all required participants (isRequired) a round may close at once.
// If a required participant is missing, it may close only after quorum_blocks heights.
func (s *State) mayCloseWith(included []uint32, height uint64) error {
	quorum := s.Progress.Opened + s.Params.Election.QuorumBlocks
	if height >= quorum {
		return nil
	}
	if missing := s.MissingRequired(included); missing > 0 {
		return fmt.Errorf("%w: %d participants, %d more are awaited, and none only from height %d on; height is %d",
			ErrTooFewIncluded, len(included), missing, quorum, height)
	}
	return nil
}

// participantsOf returns the participants of an aggregate's entries, in their order.
func participantsOf(included []tx.Included) []uint32 {
	out := make([]uint32, len(included))
	for i, in := range included {
		out[i] = in.Participant
	}
	return out
}

// judgePrevious judges the round before the open one by what the senders of the open round's gradients observed. next
// is the state after the open round. An observation that F+1 of the gradients share is that of an honest participant,
// so f Byzantine participants convict nobody. And the honest ones among N-f gradients are at least f+1, so a leader
// that leaves out others saves nobody.
func (s *State) judgePrevious(next *State, listed []*tx.Tx) {
	if s.Progress.Round == 0 {
		return
	}
	late, failed := make([]int, len(s.Participants)), make([]int, len(s.Participants))
	for _, t := range listed {
		for _, index := range t.Gradient.Late {
			late[index]++
		}
		for _, index := range t.Gradient.Failed {
			failed[index]++
		}
	}
	for i, f := 0, s.F(); i < len(s.Participants); i++ {
		p := &next.Participants[i]
		if late[i] > f && s.isRequired(&s.Participants[i]) {
			s.strike(p)
		}
		if failed[i] > f && p.Active {
			s.penaliseLeader(p)
		}
	}
}

// strikeUncommitted gives a strike to each participant whose commitment the round awaited, and whose
// commitment did not come in the commit phase. next is the state after the round.
func (s *State) strikeUncommitted(next *State) {
	if !s.Params.Election.CommitReveal {
		return
	}
	for i := range s.Participants {
		p := &s.Participants[i]
		if c := s.commitment(p.Index); s.isRequired(p) && (c == nil || len(c.VrfOutput) == 0) {
			s.strike(&next.Participants[i])
		}
	}
}

// presentOp says that a resting participant is back: the round after the open one waits for it. With
// k strikes a participant may say so once in 2^k rounds. So a participant that is back for good is
// in the next round, and one that is late again costs at most two waits for each strike.
type presentOp struct{ *tx.Present }

func (p presentOp) sender() sender { return memberSender(p.Participant, p.Nonce) }

// check accepts every Present: whether it has an effect may change with the round that its block closes.
func (p presentOp) check(*State) error { return nil }

// MayPresent reports whether a Present would let the round after the open one wait for the participant.
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
