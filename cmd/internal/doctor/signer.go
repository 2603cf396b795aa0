package doctor

import (
	"context"
	"errors"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
)

// validatorSigner checks whether the signer of the validator's key is connected to the running node.
func validatorSigner(ctx context.Context, h *Home) Finding {
	at := h.Config.PrivValidatorListenAddr
	switch {
	case at == "":
		return skip("the validator's key is in this home")
	case !h.runs():
		return skip("the node is stopped: it listens for the signer at priv_validator_laddr, %s, while it runs", at)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := h.Client.Status(ctx)
	switch {
	case err != nil:
		return skip("the node does not say: %v", err)
	case s.Home == nil || s.Home.ValidatorSigner == "":
		return warn("restart the node", "priv_validator_laddr is %s, and the node has started without it", at)
	case s.Home.ValidatorSigner != home.SignerAnswers:
		return fail("start it (spdl signer); see that it reaches this address, and that its --node-id is this node's "+
			"(spdl show-node-id)", "no signer is connected to priv_validator_laddr, %s: the validator signs nothing", at)
	}
	return ok("a signer is connected to %s", at)
}

// participantSigner checks whether the signer of the participant's keys answers.
func participantSigner(ctx context.Context, h *Home) Finding {
	w := h.App.Worker
	if w.Signer == "" {
		return skip("the participant's keys are in this home")
	}
	p, err := home.OpenParticipant(ctx, h.Config, h.App, home.NewKeystore(h.Config.RootDir, nil))
	if err != nil {
		return fail("spdl signer init makes the home and the certificates of a signer", "%v", err)
	}
	if away := p.Signer.Away(); away != "" {
		return fail("start it (spdl signer); see that this host reaches its address, and that each side has the other's "+
			"certificate", "away: %s: the participant is absent until it answers", away)
	}
	if h.NoGenesis != nil {
		return ok("answers: %s, with the public key %X", w.Signer, []byte(p.Signing))
	}
	all, err := h.participants(ctx)
	if err != nil {
		return skip("answers: %s; the chain's participants cannot be read: %v", w.Signer, err)
	}
	for _, who := range all {
		if string(who.PubKey) != string(p.Signing) {
			continue
		}
		if _, err := p.Signer.Open(ctx, h.Genesis.ChainID, who.Id); errors.Is(err, worker.ErrForeign) {
			return fail("put the genesis of this chain into the signer's home", "%v", err)
		} else if err != nil {
			return fail("look at the signer's log", "%v", err)
		}
		return ok("answers: %s, with the keys of participant %d", w.Signer, who.Index)
	}
	return fail("it has the keys of another participant, or the participant has not joined", "%s answers, with the "+
		"public key %X, whom the chain does not have", w.Signer, []byte(p.Signing))
}
