package abci

import "github.com/spdl/spdl/app"

// logChanges logs what a block has changed beside its round: an epoch that begins or is finished, and participants
// that become inactive, or active again.
func (a *Application) logChanges(before, s *app.State) {
	at := []any{"epoch", s.Progress.Epoch, "round", s.Progress.Round, "height", s.Height}
	switch {
	case before.Progress.Epoch != s.Progress.Epoch:
		a.log.Info("epoch begins", append(at, "rounds", s.Params.Training.Rounds, "participants", s.Active())...)
	case s.Finished() && !before.Finished():
		a.log.Info("epoch is finished", at...)
	}
	own := s.HolderOf(a.options.OwnKey)
	for i := range before.Participants {
		index := before.Participants[i].Index
		inactive := s.IsInactive(index)
		if inactive == before.IsInactive(index) {
			continue
		}
		text := "participant is active again: rounds wait for it"
		if inactive {
			text = "participant is inactive: it missed rounds, and rounds no longer wait for it"
		}
		a.log.Info(text, append(at, "participant", index, "moniker", before.Participants[i].Moniker,
			"own", own != nil && own.Index == index)...)
	}
}
