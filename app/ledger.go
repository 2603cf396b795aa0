package app

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/params"
)

// Accounted reports whether the ledger covers every vector that the participants released: the running epoch and every
// ended epoch with a closed round have costs. If an epoch has no costs, an epsilon from the ledger is too small.
func Accounted(running params.Params, ended []Epoch) bool {
	free := func(e Epoch) bool { return e.Rounds > 0 && len(e.Params.Privacy.Cost) == 0 }
	return len(running.Privacy.Cost) > 0 && !slices.ContainsFunc(ended, free)
}

// KnownNoise reports whether the noise of some epoch may come from public seeds. Such a chain is a
// rehearsal, and its ledger guarantees nothing.
func KnownNoise(running params.Params, ended []Epoch) bool {
	return running.TestChain || slices.ContainsFunc(ended, func(e Epoch) bool { return e.Params.TestChain })
}

// TrainerClips reports whether, in some epoch, the participants' own programs clip the gradients.
// The guarantee of the ledger then depends on those programs.
func TrainerClips(running params.Params, ended []Epoch) bool {
	clips := func(p params.Params) bool { return p.Model.Clipping == params.ClippingSum }
	return clips(running) || slices.ContainsFunc(ended, func(e Epoch) bool { return clips(e.Params) })
}

// checkBudget returns ErrBudget if the participant's budget does not pay for one more participation (G7).
func (s *State) checkBudget(p *Participant) error {
	if s.Params.Privacy.Participations(p.Spent) == 0 {
		return fmt.Errorf("%w: participant %d has taken part in %d rounds, and epsilon %g at delta %g pays for no more",
			ErrBudget, p.Index, p.Participations, s.Params.Privacy.Epsilon, s.Params.Privacy.Delta)
	}
	return nil
}

// isContributor reports whether a participant is active and has budget left.
func (s *State) isContributor(p *Participant) bool {
	return p.Active && s.Params.Privacy.Participations(p.Spent) > 0
}

// contributors returns how many active participants have budget left.
func (s *State) contributors() int {
	n := 0
	for i := range s.Participants {
		if s.isContributor(&s.Participants[i]) {
			n++
		}
	}
	return n
}

// isOver reports whether no round can close any more: all rounds of the epoch are closed, or too
// few participants have budget left.
func (s *State) isOver() bool {
	return s.Progress.Round >= s.Params.Training.Rounds || s.contributors() < s.Active()-s.F()
}
