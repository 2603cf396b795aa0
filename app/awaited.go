package app

import "github.com/spdl/spdl/app/tx"

// Bounds of waiting for a participant that is away: so that one dead host does not make every round
// cost quorum_blocks heights, and a slow one that came back is in the rounds again.
const (
	awayAfter   = 3  // rounds in a row without its gradient, after which a participant is away
	recallEvery = 16 // of so many rounds one waits for those who are away too
)

// away reports whether the last awayAfter rounds closed without a gradient of the participant.
func (s *State) away(p *Participant) bool { return s.history.size >= p.Seen+awayAfter }

// awaits reports whether the open round may close at once only with the participant's gradient, as
// far as commitments do not say otherwise.
func (s *State) awaits(p *Participant) bool {
	return s.contributes(p) && (!s.away(p) || s.history.size%recallEvery == 0)
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

// Missing returns how many participants the open round still waits for when it has the gradients of
// the given ones.
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

// markSeen notes the included participants of a round that has closed, which next's history counts.
// Who was away takes part in elections from the next round on: whether the round waited for it was
// the leader's to choose, and the choice must not move the seed.
func (s *State) markSeen(next *State, included []tx.Included) {
	for _, in := range included {
		p := &next.Participants[in.Participant]
		if s.away(p) {
			p.Contends = max(p.Contends, next.history.size+1)
		}
		p.Seen = next.history.size
	}
}
