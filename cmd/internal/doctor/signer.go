package doctor

import (
	"context"
	"errors"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
)

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
