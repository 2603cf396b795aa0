package dossier

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
)

// conduct counts what the records say about a participant.
type conduct struct{ included, selected, opposed, withheld, missed int }

// incidents writes the section about proven offences of participants, and about their gradients in
// the records.
func (w *writer) incidents() {
	w.Section("Incidents and offences", "participant", "gradients in closed rounds", "selected by the rule",
		"opposed to the aggregate", "withheld after commitment", "turns as leader missed", "reputation at the end")
	if len(w.State.Offences) == 0 {
		w.Say(w.state("offences"), "No offence was proven.")
	}
	for i, o := range w.State.Offences {
		w.Say(w.state(fmt.Sprintf("offences/%d", i)),
			"%s committed an offence (%s) in round %d of epoch %d, proven at %s.",
			w.who(o.Participant), o.Cause(), o.Round, o.Epoch, w.at(o.Height))
	}
	by := map[uint32]*conduct{}
	of := func(index uint32) *conduct {
		if by[index] == nil {
			by[index] = &conduct{}
		}
		return by[index]
	}
	late := 0
	for _, r := range w.Records {
		for _, c := range r.Contributions {
			p := of(c.Participant)
			p.included++
			if c.Selected {
				p.selected++
			}
			if c.Opposed {
				p.opposed++
			}
		}
		for _, p := range r.Withheld {
			of(p).withheld++
		}
		if r.View > 0 {
			late++
		}
		for view, p := range r.Ranking {
			if uint32(view) < r.View {
				of(p).missed++
			}
		}
	}
	w.Say(recomputed("the records of all closed rounds"),
		"In %d of %d rounds the first leader did not close the round, and "+
			"a later one did.", late, len(w.Records))
	w.Say(manual,
		"A rule that selects some gradients leaves honest ones out too; only offences are proofs of misconduct.")
	for _, p := range w.State.Participants {
		c := of(p.Index)
		w.Row(recomputed(fmt.Sprintf("the records of all closed rounds, participants/%d", p.Index)), w.who(p.Index),
			fmt.Sprint(c.included), fmt.Sprint(c.selected), fmt.Sprint(c.opposed), fmt.Sprint(c.withheld),
			fmt.Sprint(c.missed),
			fmt.Sprintf("%.3f", float64(p.Reputation)/params.One))
	}
}
