package doctor

import (
	"context"

	"github.com/spdl/spdl/abci/home"
)

// epochConsent asks the node whether the running epoch awaits the home's consent.
func epochConsent(ctx context.Context, h *Home) Finding {
	switch {
	case !h.App.Worker.Enabled:
		return skip("this home has no worker")
	case h.App.Worker.Consent != home.ConsentAsk:
		return ok(`worker.consent is "off": every epoch trains that the home's bounds permit`)
	case !h.runs():
		return skip("the node does not run: spdl consent lists what awaits consent")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := h.Client.Status(ctx)
	if err != nil || s.Home == nil {
		return skip("the node does not say: %v", err)
	}
	switch s.Home.Consent {
	case home.ConsentGiven:
		return ok("consented: epoch %d has this home's consent", s.Epoch)
	case home.ConsentRejected:
		return ok("rejected: this home has rejected epoch %d, and is absent from it", s.Epoch)
	case home.ConsentAwaited:
		return warn("spdl consent shows what it is about; then spdl consent EPOCH, with --reject or without",
			"awaited: epoch %d awaits this home's consent, and the home is absent until then", s.Epoch)
	}
	return fail("mend config/consent.jsonl", "there is no consent: %s", s.Home.Consent)
}
