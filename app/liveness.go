package app

import "github.com/spdl/spdl/app/tx"

// A participant's absence is a score from 0 to maxAbsence. Each closed round without the
// participant's gradient adds absentCost, and each round with it subtracts presentGain. While the
// score is at least inactiveFrom, the participant is inactive. So a dead host becomes inactive after
// three rounds, and a participant that misses more than two of five rounds stays inactive. Stricter
// values would hit honest participants, because f Byzantine leaders can leave any one participant
// out of a third of the rounds.
const (
	absentCost, presentGain = 3, 2

	inactiveFrom = 3 * absentCost
	maxAbsence   = inactiveFrom + presentGain // max score; from there, two gradients make a participant active again
	probeEvery   = 8                          // an inactive participant has one probe round in 8 * 2^lapses rounds
	maxLapses    = 4                          // max lapses; a start of inactivity and a missed probe round add one each
)

// isInactive reports whether the participant is inactive: rounds close without waiting for it.
func (s *State) isInactive(p *Participant) bool { return p.Absence >= inactiveFrom }

// IsInactive reports whether the participant with the given index is inactive. It returns false if
// there is no such participant.
func (s *State) IsInactive(index uint32) bool {
	return uint64(index) < uint64(len(s.Participants)) && s.isInactive(&s.Participants[index])
}

// isProbed reports whether the open round is a probe round of an inactive participant: a round that
// waits for the participant although it is inactive.
func (s *State) isProbed(p *Participant) bool {
	return s.isInactive(p) && s.history.size%(probeEvery<<p.Lapses) == 0
}

// NextProbe returns the next round that waits for an inactive participant: the open round or a
// later round. The result may exceed the epoch's number of rounds. ok reports whether the
// participant with the given index is inactive.
func (s *State) NextProbe(index uint32) (round uint64, ok bool) {
	if !s.IsInactive(index) {
		return 0, false
	}
	every := uint64(probeEvery) << s.Participants[index].Lapses
	return s.Progress.Round + (every-s.history.size%every)%every, true
}

// isRequired reports whether the open round needs the participant's gradient to close before its
// quorum height (A5). It ignores commitments; isRequiredNow considers them.
func (s *State) isRequired(p *Participant) bool {
	return s.isContributor(p) && (!s.isInactive(p) || s.isProbed(p))
}

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

// MissingRequired returns the number of required participants that are not in present. present
// lists the participants whose gradients the caller has. In the commit phase it lists the
// participants whose commitments the caller has.
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

// participantsOf returns the participants of an aggregate's entries, in their order.
func participantsOf(included []tx.Included) []uint32 {
	out := make([]uint32, len(included))
	for i, in := range included {
		out[i] = in.Participant
	}
	return out
}

// markAbsence updates the absence of the active participants after a closed round. newState is the
// state after the round, and its history already holds the round. listed has the gradients of the
// round in participant order; participants without an entry were absent.
//
//   - A gradient in a probe round ends the participant's inactivity. After a probe round without
//     its gradient, the participant's next probe rounds are further apart.
//   - An inactive participant that sent a gradient contends only from the next round on: the leader
//     chose whether to wait for the gradient, and that choice must not affect the seed.
func (s *State) markAbsence(newState *State, listed []tx.Included) {
	for i := range s.Participants {
		before, p := &s.Participants[i], &newState.Participants[i]
		switch {
		case len(listed) > 0 && listed[0].Participant == p.Index:
			listed = listed[1:]
			p.Absence -= min(p.Absence, presentGain)
			if s.isProbed(before) {
				p.Absence = min(p.Absence, inactiveFrom-1)
			}
			if s.isInactive(before) {
				p.Contends = max(p.Contends, newState.history.size+1)
			}
			if p.Absence == 0 {
				p.Lapses = 0
			}
		case p.Active:
			p.Absence = min(p.Absence+absentCost, maxAbsence)
			if s.isRequired(before) && s.isInactive(p) {
				p.Lapses = min(p.Lapses+1, maxLapses)
			}
		}
	}
}
