package dossier

import (
	"cmp"
	"fmt"

	"github.com/spdl/spdl/app/params"
)

// model writes the section with the card of the last model, and the epochs that led to it.
func (w *writer) model() {
	w.Section("Model card", "epoch", "rounds closed", "heights", "preset", "rule", "final model")
	c := w.Card
	round := fmt.Sprintf("round/%d/%d", c.Epoch, c.Round)
	w.Say(w.state(round),
		"The last model is that after round %d of epoch %d, closed at %s by %d gradients; its parameters "+
			"have the hash %s.", c.Round, c.Epoch, w.at(c.Closed), c.Included, c.ModelHash)
	w.Say(w.state("params"), "%s", modelText(c.Model))
	w.Say(recomputed("params, epochs, participants"),
		"It was trained by rule %s; at the last height it has %d active "+
			"participants, and the rule withstands %d Byzantine ones.", c.Rule, c.Participants, c.Byzantine)
	if c.Epsilon == nil {
		w.Say(recomputed("params, epochs, participants"), "NO DP GUARANTEE: an epoch has no ledger.")
	} else {
		w.Say(recomputed("params, epochs, participants"),
			"No participant spent more than epsilon %.4f at delta %g.", *c.Epsilon,
			c.Delta)
	}
	if c.TestChain {
		w.Say(w.state("params, epochs"), "TEST CHAIN ONLY: noise may be known, nothing is private.")
	}
	w.Say(manual,
		"Accuracy is in no proof: spdl model eval measures an exported model, and spdl verify model proves that it "+
			"is the one above.")
	for _, e := range w.State.Epochs {
		w.Row(w.state("epochs"), fmt.Sprint(e.Epoch), fmt.Sprint(e.Rounds), w.at(e.Opened)+" to "+w.at(e.Closed),
			cmp.Or(e.Params.Preset, "none"), e.Params.Rule.Name, fmt.Sprintf("%x", e.ModelHash))
	}
	p := w.State.Progress
	w.Row(w.state("progress, params"), fmt.Sprint(p.Epoch), fmt.Sprintf("%d of %d", p.Round,
		w.State.Params.Training.Rounds),
		w.at(p.Began)+" to "+w.at(w.Height), cmp.Or(w.State.Params.Preset, "none"), w.State.Params.Rule.Name, "(running)")
}

// modelText describes the kind of a model.
func modelText(m params.Model) string {
	text := fmt.Sprintf("It is of kind %s with %d parameters", m.Kind, m.Dim())
	if m.Kind != params.ModelExternal {
		text += fmt.Sprintf(", %d inputs and %d classes", m.Inputs, m.Classes)
	}
	if m.Features.Name != "" {
		text += fmt.Sprintf(", on the public features %s of hash %s", m.Features.Name, m.Features.Hash)
	}
	if m.Table != nil {
		text += fmt.Sprintf(", on a table of %d columns with the label %q", len(m.Table.Columns), m.Table.Label)
	}
	if m.Trainer != "" {
		text += fmt.Sprintf("; workers take a trainer of hash %s alone", m.Trainer)
	}
	return text + "."
}
