package dossier

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/cmd/internal/dossier/page"
)

// membership writes the section about who took part since when, and who proposed and approved what.
func (w *writer) membership() {
	w.Section("Membership and approvals", "height and time", "by", "what", "approved by", "result (declared)")
	for _, p := range w.Members[0].All {
		w.Say(page.Basis{Kind: page.State, Of: "participants", Height: w.Members[0].Height},
			"%s is a founder, with the signing key %x.", w.who(p.Index), p.PubKey)
	}
	for _, c := range w.Changes() {
		w.Say(page.Basis{Kind: page.State, Of: fmt.Sprintf("participants/%d", c.Participant), Height: c.Height + 1},
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
		var votes []string
		for _, a := range e.Approvals {
			votes = append(votes, fmt.Sprintf("%d at %s", a.Participant, w.at(a.Height)))
		}
		result := e.Result
		if e.ResultHeight != e.Height {
			result += fmt.Sprintf(" at height %d", e.ResultHeight)
		}
		if e.Why != "" {
			result += ": " + e.Why
		}
		w.Row(page.Basis{Kind: page.Transaction, Of: fmt.Sprintf("%.16s", e.Hash), Height: e.Height}, w.at(e.Height), by,
			e.Kind+": "+e.Summary, strings.Join(votes, ", "), result)
	}
}
