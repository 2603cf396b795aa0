package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// openRound fails if the open round cannot close, because this node rejected what too many participants signed for it.
func openRound(ctx context.Context, h *Home) Finding {
	if !h.runs() {
		return skip("%s", h.away())
	}
	s, err := h.Client.Status(ctx)
	m, failed := h.Client.Membership(ctx)
	if err := cmp.Or(err, failed); err != nil {
		return skip("the node does not say: %v", err)
	} else if s.Done {
		return skip("epoch %d closes no further round", s.Epoch)
	}
	rejected, _ := h.Client.RefusalsOf(ctx, s.Epoch, s.Round)
	said := map[uint32]string{}
	for _, x := range rejected {
		for _, who := range m.Members {
			if who.Index == x.Participant && x.Signed { // anybody may have sent the others
				said[x.Participant] = fmt.Sprintf("%d %s (%s: %s)", x.Participant, chainview.MonikerText(who.Moniker), x.Reason,
					chainview.RejectionText(x))
			}
		}
	}
	least := m.Participants - m.Byzantine
	found := fmt.Sprintf("round %d of epoch %d is open since height %d of %d, with %d of %d gradients; it closes with %d at "+
		"least", s.Round, s.Epoch, s.Opened, s.Height, s.Pending, m.Participants, least)
	if len(said) > 0 {
		found += "; this node rejected those of " + strings.Join(slices.Sorted(maps.Values(said)), "; ")
	}
	if m.Participants-len(said) < least && s.Pending < least {
		return fail("nobody signs a second gradient for a round: start an epoch (spdl tx start-epoch) when these "+
			"participants have mended their trainers, data or keys, or remove them (spdl tx remove)", "%s: it cannot close", found)
	}
	return ok("%s", found)
}

// upgrade warns of an upgrade that is planned if this program does not execute its version.
func upgrade(ctx context.Context, h *Home) Finding {
	var u query.UpgradeState
	var err error
	if h.runs() {
		u, err = h.Client.Upgrade(ctx)
	} else if s, failed := h.state(); s != nil {
		if plan, planned := s.Plan(); planned {
			u = query.UpgradeState{Height: s.Height, Planned: &plan}
		}
	} else {
		err = failed
	}
	p := u.Planned
	switch {
	case err != nil:
		return skip("the chain's plan cannot be read: %v", err)
	case p == nil:
		return ok("none is planned")
	}
	found := fmt.Sprintf("upgrade %q to version %d of the state machine at height %d, in %d blocks; this program executes "+
		"version %d", p.Name, p.Version, p.Height, p.Height-min(p.Height, u.Height), app.Version)
	if p.Version == app.Version {
		return ok("%s, and is it: start it when the release of before has stopped", found)
	}
	return warn("have the release of that version at hand: the node stops by itself after the height before, and that "+
		"release goes on (docs/OPERATING.md, Upgrade)", "%s, and is not it", found)
}
