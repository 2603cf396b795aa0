package dossier

import (
	"fmt"

	"github.com/spdl/spdl/cmd/internal/dossier/page"
)

// software writes the section about the versions that executed the chain, and about the hashes of code on the chain.
func (w *writer) software() {
	w.Section("Software")
	v := w.Last().Version
	w.Say(page.Basis{Kind: page.Header, Height: w.Height},
		"Version %d of the state machine and version %d of the block protocol made the last block.", v.App, v.Block)
	if len(w.State.Progress.Upgrades) == 0 {
		w.Say(w.state("progress"), "No upgrade was made or is planned.")
	}
	for _, u := range w.State.Progress.Upgrades {
		if h := w.At(u.Height); h != nil {
			w.Say(page.Basis{Kind: page.Header, Height: u.Height},
				"The upgrade %q brought version %d of the state machine at %s.",
				u.Name, h.Version.App, w.at(u.Height))
			continue
		}
		w.Say(w.state("progress"), "The upgrade %q to version %d of the state machine is planned for height %d.", u.Name,
			u.Version, u.Height)
	}
	for epoch := range w.State.Progress.Epoch + 1 {
		m := w.paramsOf(epoch).Model
		if m.Trainer != "" {
			w.Say(w.state("params, epochs"), "In epoch %d workers take training code of hash %s alone.", epoch, m.Trainer)
		}
	}
	w.Say(declared("the author"), "The program %s made this dossier.", w.declared.Program)
}

// commands writes how a reader checks each kind of claim.
func (w *writer) commands() {
	w.Section("Commands that verify", "basis", "command")
	here := fmt.Sprintf("spdl verify dossier FILE --trust-height %d --trust-hash %x", w.Height, []byte(w.Last().Hash()))
	w.Say(manual, "Take the trusted hash from somebody other than the author; that of any height from %d to %d will do.",
		w.First(), w.Height)
	for _, c := range [][2]string{
		{"every sentence, without a node", here},
		{"a value of the state, from a node",
			"spdl query participants --prove; spdl verify participant INDEX --trust-height H " +
				"--trust-hash X"},
		{"the record of a round, from a node", "spdl verify round EPOCH ROUND --trust-height H --trust-hash X"},
		{"the last model",
			"spdl model export --round " + fmt.Sprint(w.Card.Round) + " --out m.safetensors; spdl verify model " +
				"m.safetensors --trust-height H --trust-hash X"},
		{"operations, their results, and that none is missing",
			"spdl audit archive --out chain.spdl; spdl audit log chain.spdl"},
		{"all of it, by executing the training again", "spdl audit replay chain.spdl --genesis genesis.json"},
	} {
		w.Row(manual, c[0], c[1])
	}
}
