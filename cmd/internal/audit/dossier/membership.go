package dossier

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// membership writes the section about who took part since when, and who proposed and approved what.
func (w *writer) membership() {
	w.Section("Membership and approvals", "height and time", "by", "what", "approved by", "result (declared)")
	for _, p := range w.Members[0].All {
		w.Say(Basis{Kind: State, Of: "participants", Height: w.Members[0].Height},
			"%s is a founder, with the signing key %x.", w.who(p.Index), p.PubKey)
	}
	for _, c := range w.Changes() {
		w.Say(Basis{Kind: State, Of: fmt.Sprintf("participants/%d", c.Participant), Height: c.Height + 1},
			"%s %s with the block of %s.", w.who(c.Participant), c.What, w.at(c.Height))
	}
	w.Say(recomputed("participants at both sides of each change"),
		"There was no other change of members or of their keys.")
	if len(w.State.Proposals) == 0 {
		w.Say(w.state("proposals"), "No proposal waits at the last height.")
	}
	for _, p := range w.State.Proposals {
		w.Say(w.state("proposals"), "Proposal %x of height %d waits with %d approvals.", p.Id, p.Height, len(p.Approvals))
	}
	w.Say(declared("the author's replay: spdl audit log on an archive makes the list again"),
		"The table has all operations up to the last height; its last column is what became of them.")
	for _, e := range w.Log.Entries {
		by := "an outsider"
		if e.Actor != nil {
			by = w.who(*e.Actor)
		}
		var approvals []string
		for _, a := range e.Approvals {
			approvals = append(approvals, fmt.Sprintf("%d at %s", a.Participant, w.at(a.Height)))
		}
		w.Row(Basis{Kind: Transaction, Of: fmt.Sprintf("%.16s", e.Hash), Height: e.Height}, w.at(e.Height), by,
			e.Kind+": "+e.Summary, strings.Join(approvals, ", "), e.ResultText("height "))
	}
}

// incidents writes the section about proven offences of participants, and about their gradients in the records.
func (w *writer) incidents() {
	w.Section("Incidents and offences", "participant", "gradients in closed rounds", "selected by the rule",
		"opposed to the aggregate", "withheld after commitment", "turns as leader missed", "reputation at the end")
	if len(w.State.Offences) == 0 {
		w.Say(w.state("offences"), "No offence was proven.")
	}
	for i, o := range w.State.Offences {
		w.Say(w.state(fmt.Sprintf("offences/%d", i)), "%s committed an offence (%s) in round %d of epoch %d, proven at %s.",
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
	w.Say(manual, "A rule that selects some gradients leaves honest ones out too; only offences are proofs of misconduct.")
	for _, p := range w.State.Participants {
		c := counts[p.Index]
		w.Row(recomputed(fmt.Sprintf("the records of all closed rounds, participants/%d", p.Index)), w.who(p.Index),
			fmt.Sprint(c.Included), fmt.Sprint(c.Selected), fmt.Sprint(c.Opposed), fmt.Sprint(c.Withheld),
			fmt.Sprint(c.Missed),
			fmt.Sprintf("%.3f", float64(p.Reputation)/params.One))
	}
}
