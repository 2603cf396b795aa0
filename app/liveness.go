package app

import "github.com/spdl/spdl/app/tx"

// Absence is a score: a closed round without a participant's gradient adds absentCost to it, a
// round with the gradient subtracts presentGain, and a participant with at least inactiveFrom is
// inactive. So a dead host is inactive after three rounds, and a participant that misses more than
// two of five rounds stays inactive. A stricter rate would hit honest participants, because f
// Byzantine leaders can leave one of them out of a third of the rounds.
const (
	absentCost, presentGain = 3, 2

	inactiveFrom = 3 * absentCost
	maxAbsence   = inactiveFrom + presentGain // two gradients make the participant active again
	probeEvery   = 8                          // one in 8 * 2^lapses rounds waits for an inactive participant
	maxLapses    = 4
)

// inactive reports whether the participant is inactive: rounds close without waiting for it.
func (s *State) inactive(p *Participant) bool { return p.Absence >= inactiveFrom }

// probes reports whether the open round is a probe round of an inactive participant: it waits for
// the participant all the same.
func (s *State) probes(p *Participant) bool {
	return s.inactive(p) && s.history.size%(probeEvery<<p.Lapses) == 0
}

// required reports whether the open round needs the participant's gradient to close at once (A5).
// It does not consider commitments; requiredNow does.
func (s *State) required(p *Participant) bool {
	return s.contributes(p) && (!s.inactive(p) || s.probes(p))
}

// requiredNow reports whether the open phase of the round waits for the participant: for its
// commitment, or for the gradient that it committed itself to.
func (s *State) requiredNow(p *Participant) bool {
	if s.Params.Election.CommitReveal && s.Progress.Revealing != (s.Commitment(p.Index) != nil) {
		return false
	}
	return s.required(p)
}

// Required reports whether the open round may close at once only with a participant's gradient.
func (s *State) Required(index uint32) bool {
	return uint64(index) < uint64(len(s.awaited)) && s.awaited[index]
}

// MissingRequired returns the number of required participants that are not among the present ones.
// Present are those whose gradient, or in the commit phase whose commitment, the caller counts.
func (s *State) MissingRequired(present []uint32) int {
	has := make([]bool, len(s.Participants))
	for _, index := range present {
		if uint64(index) < uint64(len(has)) {
			has[index] = true
		}
	}
	n := 0
	for i, awaited := range s.awaited {
		if awaited && !has[i] {
			n++
		}
	}
	return n
}

// participantsOf returns the included participants, in order.
func participantsOf(included []tx.Included) []uint32 {
	out := make([]uint32, len(included))
	for i, in := range included {
		out[i] = in.Participant
	}
	return out
}

// markAbsence updates the absence of the active participants after a closed round: the listed ones
// were present, all other ones absent. next's history already has the round.
//
//   - A gradient in a probe round ends the participant's absence. After a failed probe, later
//     probes are rarer.
//   - A participant that was inactive contends only from the next round on: the leader chose
//     whether to wait for it, and that choice must not affect the seed.
func (s *State) markAbsence(next *State, listed []tx.Included) {
	for i := range s.Participants {
		before, p := &s.Participants[i], &next.Participants[i]
		switch {
		case len(listed) > 0 && listed[0].Participant == p.Index:
			listed = listed[1:]
			p.Absence -= min(p.Absence, presentGain)
			if s.probes(before) {
				p.Absence = min(p.Absence, inactiveFrom-1)
			}
			if s.inactive(before) {
				p.Contends = max(p.Contends, next.history.size+1)
			}
			if p.Absence == 0 {
				p.Lapses = 0
			}
		case p.Active:
			p.Absence = min(p.Absence+absentCost, maxAbsence)
			if s.required(before) && s.inactive(p) {
				p.Lapses = min(p.Lapses+1, maxLapses)
			}
		}
	}
}
