package doctor

import (
	"fmt"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
)

// HomeLine is a line of text about a node's own home (its worker, signers, validator and consent).
type HomeLine struct {
	Name, Text string // untrusted: the node chooses them
	Concern    bool   // whether the line is about a fact that keeps the participant or the validator from its work
}

// HomeLines returns the node's declaration as lines of text for an operator.
func HomeLines(h *query.Home) (all []HomeLine) {
	add := func(holds, concern bool, name, format string, args ...any) {
		if holds {
			all = append(all, HomeLine{name, fmt.Sprintf(format, args...), concern})
		}
	}
	add(h.Worker != "" && h.Worker != query.WorkerSlow, true, "worker", "%s: see the node's log (spdl doctor)", h.Worker)
	add(h.Step != "", h.Worker == query.WorkerSlow, "step", "%s", h.Step)
	add(h.Convicted != "", true, "convicted", "%s: the reputation of this home's participant is 0 (spdl doctor)",
		h.Convicted)
	add(h.Resting, true, "resting", "rounds close without waiting for the gradient of this home's participant, which was "+
		"late; %s", rest(h))
	free, away, gone := h.Trainer == query.TrainerFree, h.Signer == query.SignerAway, h.ValidatorSigner == query.SignerAway
	add(free, false, "trainer", `%s: it can read the node's keys and send the data away (worker.sandbox is "off")`,
		h.Trainer)
	add(!free && h.Trainer != "", false, "trainer", "%s", h.Trainer)
	add(away, true, "signer", "%s: the participant is absent until it answers (spdl doctor)", h.Signer)
	add(!away && h.Signer != "", false, "signer", "%s", h.Signer)
	add(gone, true, "validator", "signer %s: the validator signs no block (spdl doctor)", h.ValidatorSigner)
	add(!gone && h.ValidatorSigner != "", false, "validator", "signer %s", h.ValidatorSigner)
	add(h.Validator != "", true, "validator", "%s: after a restore it signs nothing until the chain has decided blocks "+
		"without it (spdl doctor)", h.Validator)
	add(h.IsSilent(), true, "validator", "silent: no vote of it in the last %d blocks (spdl doctor)", h.BlocksSinceVote)
	add(h.Consent != "", h.Consent != home.ConsentGiven, "consent", "%s (spdl consent)", h.Consent)
	return all
}

// rest returns a text that says which round waits for the resting participant again.
func rest(h *query.Home) string {
	if h.RestEnds == nil {
		return "no later round of this epoch waits for it, unless its worker says that it is back"
	}
	return fmt.Sprintf("from round %d on they wait again, or sooner if its worker says that it is back", *h.RestEnds)
}
