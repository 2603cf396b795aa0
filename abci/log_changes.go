package abci

import "github.com/spdl/spdl/app"

// logChanges logs the changes that a block made in addition to closing a round: an epoch that begins or is
// finished, participants that begin or end a rest, and proven offences. An offence of this node's own
// participant is logged as an error.
func (a *Application) logChanges(before, s *app.State) {
	at := []any{"epoch", s.Progress.Epoch, "round", s.Progress.Round, "height", s.Height}
	switch {
	case before.Progress.Epoch != s.Progress.Epoch:
		a.log.Info("epoch begins", append(at, "rounds", s.Params.Training.Rounds, "participants", s.Active())...)
	case s.Finished() && !before.Finished():
		text := "epoch is finished"
		if s.Progress.Round < s.Params.Training.Rounds {
			text = "epoch ends early: fewer than N-f participants have budget left for a round"
		}
		a.log.Info(text, at...)
	}
	own := s.HolderOf(a.options.OwnKey)
	for i := len(before.Offences); i < len(s.Offences); i++ {
		o := s.Offences[i]
		p := &s.Participants[o.Participant]
		values := append(at, "participant", p.Index, "moniker", p.Moniker, "offence", app.Conviction(s.Offences[i:i+1], p))
		if own != p {
			a.log.Warn("participant is convicted: its reputation is 0", values...)
			continue
		}
		a.log.Error("this node's participant is convicted, and its reputation is 0: a key of it runs twice; stop the other "+
			"process, rotate the key (spdl tx rotate), ask for spdl tx restore", values...)
	}
	for i := range before.Participants {
		index := before.Participants[i].Index
		rests := s.IsResting(index)
		if rests == before.IsResting(index) {
			continue
		}
		text := "rounds wait for a participant again"
		if rests {
			text = "a participant was late, and rounds do not wait for it for a while"
		}
		a.log.Info(text, append(at, "participant", index, "moniker", before.Participants[i].Moniker,
			"strikes", s.Participants[i].Strikes, "own", own != nil && own.Index == index)...)
	}
}
