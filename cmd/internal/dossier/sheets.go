package dossier

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/cmd/internal/dossier/sheet"
)

// sheets writes the section with the data sheets of the members.
func (w *writer) sheets() {
	w.Section("Data sheets of the members", "participant", "about", "declared")
	given := map[uint32]bool{}
	for _, s := range w.declared.Sheets {
		given[s.Participant] = true
		by := declared(fmt.Sprintf("participant %d, as handed to the author", s.Participant))
		if s.Signed() {
			by = declared(fmt.Sprintf("participant %d, signature verified", s.Participant))
		}
		for _, f := range sheet.Fields {
			if s.Answers[f.Key] != "" {
				w.Row(by, w.who(s.Participant), f.Asks, s.Answers[f.Key])
			}
		}
	}
	for _, p := range w.State.Participants {
		if !given[p.Index] {
			w.Say(declared("the author"), "Open: there is no data sheet of %s.", w.who(p.Index))
		}
	}
}

// answered returns the number of members whose data sheet answers a point.
func (w *writer) answered(point string) (n int) {
	for _, s := range w.declared.Sheets {
		for _, f := range sheet.Fields {
			if s.Answers[f.Key] != "" && slices.Contains(f.Supports, point) {
				n++
				break
			}
		}
	}
	return n
}
