package dossier

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// incidents writes the section about proven offences of participants, and about their gradients in the records.
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
	counts, late := make([]chainview.Tally, len(w.State.Participants)), 0
	for i := range w.Records {
		if chainview.Add(counts, &w.Records[i], nil); w.Records[i].View > 0 {
			late++
		}
	}
	w.Say(recomputed("the records of all closed rounds"),
		"In %d of %d rounds the first leader did not close the round, and a later one did.", late, len(w.Records))
	w.Say(manual,
		"A rule that selects some gradients leaves honest ones out too; only offences are proofs of misconduct.")
	for _, p := range w.State.Participants {
		c := counts[p.Index]
		w.Row(recomputed(fmt.Sprintf("the records of all closed rounds, participants/%d", p.Index)), w.who(p.Index),
			fmt.Sprint(c.Included), fmt.Sprint(c.Selected), fmt.Sprint(c.Opposed), fmt.Sprint(c.Withheld),
			fmt.Sprint(c.Missed),
			fmt.Sprintf("%.3f", float64(p.Reputation)/params.One))
	}
}
