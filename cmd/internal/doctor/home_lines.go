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
	add := func(concern bool, name, format string, args ...any) {
		all = append(all, HomeLine{name, fmt.Sprintf(format, args...), concern})
	}
	if h.Worker != "" {
		add(true, "worker", "%s: this home trains nothing; the node's log has the reason", h.Worker)
	}
	if h.Convicted != "" {
		add(true, "convicted", "%s: the reputation of this home's participant is 0 (spdl doctor)", h.Convicted)
	}
	if h.Resting {
		add(true, "resting", "rounds close without waiting for the gradient of this home's participant, which was late; "+
			"%s", rest(h))
	}
	if h.Trainer == query.TrainerFree {
		add(false, "trainer", `%s: it can read the node's keys and send the data away (worker.sandbox is "off")`, h.Trainer)
	} else if h.Trainer != "" {
		add(false, "trainer", "%s", h.Trainer)
	}
	if h.Signer == query.SignerAway {
		add(true, "signer", "%s: the participant is absent until it answers (spdl doctor)", h.Signer)
	} else if h.Signer != "" {
		add(false, "signer", "%s", h.Signer)
	}
	if h.ValidatorSigner == query.SignerAway {
		add(true, "validator", "signer %s: the validator signs no block (spdl doctor)", h.ValidatorSigner)
	} else if h.ValidatorSigner != "" {
		add(false, "validator", "signer %s", h.ValidatorSigner)
	}
	if h.Validator != "" {
		add(true, "validator", "%s: after a restore it signs nothing until the chain has decided blocks without it "+
			"(spdl doctor)", h.Validator)
	}
	if h.IsSilent() {
		add(true, "validator", "silent: no vote of it in the last %d blocks (spdl doctor)", h.BlocksSinceVote)
	}
	if h.Consent != "" {
		add(h.Consent != home.ConsentGiven, "consent", "%s (spdl consent)", h.Consent)
	}
	return all
}

// rest returns a text that says which round waits for the resting participant again.
func rest(h *query.Home) string {
	if h.RestEnds == nil {
		return "no later round of this epoch waits for it, unless its worker says that it is back"
	}
	return fmt.Sprintf("from round %d on they wait again, or sooner if its worker says that it is back", *h.RestEnds)
}
