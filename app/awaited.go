package app

import "github.com/spdl/spdl/app/tx"

// Absence is a score: a closed round without a participant's gradient adds absentCost, a round with
// it subtracts presentGain, and from awayFrom on the participant is inactive (SPEC: away). So a
// dead host is inactive after three rounds, and a participant that misses more than two of five
// rounds stays inactive. The rate is no stricter because f Byzantine leaders can leave an honest
// participant out of a third of the rounds.
const (
	absentCost, presentGain = 3, 2

	awayFrom    = 3 * absentCost
	maxAbsence  = awayFrom + presentGain // two gradients make the participant active again
	recallEvery = 8                      // one in 8 * 2^lapses rounds waits for an inactive participant
	maxLapses   = 4
)

// away reports whether the participant is inactive: rounds close without waiting for it.
func (s *State) away(p *Participant) bool { return p.Absence >= awayFrom }

// recalls reports whether the open round waits for a participant although it is inactive (SPEC:
// recalled).
func (s *State) recalls(p *Participant) bool {
	return s.away(p) && s.history.size%(recallEvery<<p.Lapses) == 0
}

// awaits reports whether the participant is awaited (A5), commitments aside: the open round may
// close at once only with its gradient.
func (s *State) awaits(p *Participant) bool {
	return s.contributes(p) && (!s.away(p) || s.recalls(p))
}

// awaitsNow reports whether the open phase of the round waits for the participant: for its
// commitment, or for the gradient that it committed itself to.
func (s *State) awaitsNow(p *Participant) bool {
	if s.Params.Election.CommitReveal && s.Progress.Revealing != (s.Commitment(p.Index) != nil) {
		return false
	}
	return s.awaits(p)
}

// Awaits reports whether the open round may close at once only with a participant's gradient.
func (s *State) Awaits(index uint32) bool {
	return uint64(index) < uint64(len(s.awaited)) && s.awaited[index]
}

// Missing returns how many awaited participants are not among those present, whose gradients the
// open round has.
func (s *State) Missing(present []uint32) int {
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

// markAbsence counts the listed participants of a closed round as present and all other active ones
// as absent; next's history already has the round. A gradient in a recall round ends an absence. A
// wait in vain after which the participant is inactive makes its recall rounds rarer. A participant
// that was inactive contends from the next round on: the leader chose whether to wait for it, and
// that choice must not affect the seed.
func (s *State) markAbsence(next *State, listed []tx.Included) {
	for i := range s.Participants {
		before, p := &s.Participants[i], &next.Participants[i]
		switch {
		case len(listed) > 0 && listed[0].Participant == p.Index:
			listed = listed[1:]
			p.Absence -= min(p.Absence, presentGain)
			if s.recalls(before) {
				p.Absence = min(p.Absence, awayFrom-1)
			}
			if s.away(before) {
				p.Contends = max(p.Contends, next.history.size+1)
			}
			if p.Absence == 0 {
				p.Lapses = 0
			}
		case p.Active:
			p.Absence = min(p.Absence+absentCost, maxAbsence)
			if s.awaits(before) && s.away(p) {
				p.Lapses = min(p.Lapses+1, maxLapses)
			}
		}
	}
}
