package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
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
	rejected, _ := client.Ask[[]query.Rejection](ctx, h.Client, fmt.Sprintf("/refusals/%d/%d", s.Epoch, s.Round))
	said := map[uint32]string{}
	for _, x := range rejected {
		if x.Signed { // anybody may have sent the others
			said[x.Participant] = fmt.Sprintf("participant %d (%s: %s)", x.Participant, x.Reason, chainview.RejectionText(x))
		}
	}
	least := m.Participants - m.Byzantine
	found := fmt.Sprintf("round %d of epoch %d is open since height %d of %d, with %d of %d gradients; it closes with %d "+
		"at least", s.Round, s.Epoch, s.Opened, s.Height, s.Pending, m.Participants, least)
	if len(said) > 0 {
		found += "; this node rejected those of " + strings.Join(slices.Sorted(maps.Values(said)), "; ")
	}
	if m.Participants-len(said) < least && s.Pending < least {
		return fail("nobody signs a second gradient for a round: start an epoch (spdl tx start-epoch) when they have "+
			"mended their trainers, data or keys, or remove them (spdl tx remove)", "%s: it cannot close", found)
	}
	return ok("%s", found)
}
