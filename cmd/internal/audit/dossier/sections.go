package dossier

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spdl/spdl/app/params"
)

// A writer makes the page of proven facts and a declaration.
type writer struct {
	*Page
	*Facts
	declared Declaration
}

// pageOf returns the page.
func pageOf(f *Facts, d Declaration) (*Page, error) {
	w := &writer{&Page{Title: "Dossier of the training on chain " + f.State.ChainID}, f, d}
	w.about()
	w.model()
	if err := w.privacy(); err != nil {
		return nil, err
	}
	w.membership()
	w.incidents()
	if err := w.resilience(); err != nil {
		return nil, err
	}
	w.sheets()
	w.software()
	w.mapping("Points of the AI Act's Annex IV", annexIV)
	w.mapping("Points of the GDPR's Articles 30 and 35", gdpr)
	w.commands()
	return w.Page, nil
}

// state is the basis of a value of the last state.
func (w *writer) state(key string) Basis {
	return Basis{Kind: State, Of: key, Height: w.Height}
}

func recomputed(of string) Basis { return Basis{Kind: Recomputed, Of: of} }

func declared(by string) Basis { return Basis{Kind: Declared, Of: by} }

// manual is the basis of a statement in the program's documents, which is about every chain.
var manual = declared("spdl's documents")

// at returns a height with its block's time.
func (w *writer) at(height uint64) string {
	h := w.At(height)
	if h == nil {
		return fmt.Sprintf("height %d", height)
	}
	return fmt.Sprintf("height %d (%s)", height, h.Time.UTC().Format(time.RFC3339))
}

// who returns a participant with its name.
func (w *writer) who(index uint32) string {
	if int64(index) >= int64(len(w.State.Participants)) {
		return fmt.Sprintf("participant %d", index)
	}
	return fmt.Sprintf("participant %d %q", index, w.State.Participants[index].Moniker)
}

// about writes the section about the scope and the signer of the dossier.
func (w *writer) about() {
	w.Section("About this dossier")
	last := Basis{Kind: Header, Height: w.Height}
	w.Say(last, "Chain %s from %s to %s; the header of the last height has the hash %X.", w.State.ChainID,
		w.at(uint64(w.First())), w.at(w.Height), []byte(w.Last().Hash()))
	w.Say(w.state("history, closed"), "%d rounds are closed, in epochs 0 to %d.", len(w.Records), w.State.Progress.Epoch)
	for _, closed := range w.declared.Unproven {
		w.Say(declared("the author's replay"), "The dossier lacks a round and what it cost: %s.", closed)
	}
	signer := fmt.Sprintf("The key %X, which signs this archive, is of no participant of the chain.", w.declared.Signer)
	if index, known := w.Owner(w.declared.Signer); known {
		signer = fmt.Sprintf("The key %X, which signs this archive, is or was that of %s.", w.declared.Signer, w.who(index))
	}
	w.Say(w.state("participants"), "%s", signer)
	w.Say(manual, "Each sentence ends with its proof, or with the word declared and whose word it is; a proof shows what "+
		"the chain holds, not that a participant's machine did what it should.")
}

// model writes the section with the card of the last model, and the epochs that led to it.
func (w *writer) model() {
	w.Section("Model card", "epoch", "rounds closed", "heights", "preset", "rule", "final model")
	c := w.Card
	round := fmt.Sprintf("round/%d/%d", c.Epoch, c.Round)
	w.Say(w.state(round), "The last model is that after round %d of epoch %d, closed at %s by %d gradients; its "+
		"parameters have the hash %s.", c.Round, c.Epoch, w.at(c.Closed), c.Included, c.ModelHash)
	w.Say(w.state("params"), "%s", modelText(c.Model))
	w.Say(recomputed("params, epochs, participants"), "It was trained by rule %s; at the last height it has %d active "+
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
	w.Say(manual, "Accuracy is in no proof: spdl model eval measures an exported model, and spdl verify model proves "+
		"that it is the one above.")
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
