package dossier

import (
	"fmt"
	"time"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/dossier/evidence"
	"github.com/spdl/spdl/cmd/internal/dossier/page"
)

// A writer makes the page of proven facts and a declaration.
type writer struct {
	*page.Page
	*evidence.Facts
	declared evidence.Declaration
}

// pageOf returns the page.
func pageOf(f *evidence.Facts, d evidence.Declaration) (*page.Page, error) {
	w := &writer{&page.Page{Title: "Dossier of the training on chain " + f.State.ChainID}, f, d}
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
	w.annexIV()
	w.gdpr()
	w.commands()
	return w.Page, nil
}

// state is the basis of a value of the last state.
func (w *writer) state(key string) page.Basis {
	return page.Basis{Kind: page.State, Of: key, Height: w.Height}
}

func recomputed(of string) page.Basis { return page.Basis{Kind: page.Recomputed, Of: of} }

func declared(by string) page.Basis { return page.Basis{Kind: page.Declared, Of: by} }

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

// paramsOf returns the parameters of an epoch.
func (w *writer) paramsOf(epoch uint64) params.Params {
	for _, e := range w.State.Epochs {
		if e.Epoch == epoch {
			return e.Params
		}
	}
	return w.State.Params
}

// about writes the section about the scope and the signer of the dossier.
func (w *writer) about() {
	w.Section("About this dossier")
	last := page.Basis{Kind: page.Header, Height: w.Height}
	w.Say(last, "Chain %s from %s to %s; the header of the last height has the hash %X.", w.State.ChainID,
		w.at(uint64(w.First())), w.at(w.Height), []byte(w.Last().Hash()))
	w.Say(w.state("history, closed"), "%d rounds are closed, in epochs 0 to %d.", len(w.Records), w.State.Progress.Epoch)
	for _, closed := range w.declared.Unproven {
		w.Say(declared("the author's replay"), "The dossier lacks a round and what it cost: %s.", closed)
	}
	signer := fmt.Sprintf("The key %X, which signs this archive, is of no participant of the chain.", w.declared.Signer)
	if index, known := w.Owner(w.declared.Signer); known {
		signer = fmt.Sprintf("The key %X, which signs this archive, is or was that of %s.", w.declared.Signer,
			w.who(index))
	}
	w.Say(w.state("participants"), "%s", signer)
	w.Say(manual,
		"Each sentence ends with its proof, or with the word declared and whose word it is; a proof shows what the "+
			"chain holds, not that a participant's machine did what it should.")
}
