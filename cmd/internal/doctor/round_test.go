package doctor

import (
	"fmt"
	"testing"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// TestOpenRound: the check fails where the node rejected gradients of more participants than a round may lack, and
// names them with the reasons. What anybody may have sent does not count.
func TestOpenRound(t *testing.T) {
	h, _ := stopped(t)
	require.Equal(t, Skip, one(t, h, "open round").Level)
	h.Node = new(coretypes.ResultStatus)
	s := query.Status{Round: 7, Opened: 30, Height: 90, Pending: 2, Participants: 4}
	m := query.Membership{Participants: 4, Byzantine: 1}
	look := func(rejected ...query.Rejection) Finding {
		h.Client = fakeNode(t, map[string]string{"abci_query /status": answer(t, s), "abci_query /membership": answer(t, m),
			"abci_query /refusals/0/7": answer(t, rejected)})
		return one(t, h, "open round")
	}
	norm := query.Rejection{Round: 7, Participant: 3, Reason: "norm", Log: "G6: x", Norm: 40, MinNorm: 292, Signed: true}
	require.Equal(t, OK, look().Level)
	f := look(norm)
	require.Equal(t, OK, f.Level, "the rule withstands one")
	require.Contains(t, f.Found, "this node rejected those of participant 3 (norm: norm 40; the noise alone makes at "+
		"least 292)")
	other := query.Rejection{Round: 7, Participant: 1, Reason: "budget", Log: "L1: spent"}
	twice := norm
	twice.Reason = "payload"
	require.Equal(t, OK, look(norm, twice, other).Level, "one participant, and one whom anybody may have named")
	other.Signed = true
	f = look(norm, other)
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "round 7 of epoch 0 is open since height 30 of 90, with 2 of 4 gradients; it "+
		"closes with 3 at least; this node rejected those of participant 1 (budget: spent); participant 3")
	s.Pending = 3
	require.Equal(t, OK, look(norm, other).Level, "what was rejected came beside a good one")
	s.Done = true
	require.Equal(t, Skip, look(norm, other).Level)
}

// TestPlannedUpgrade: of a node that runs the check of the program names the upgrade that is planned.
func TestPlannedUpgrade(t *testing.T) {
	h, _ := stopped(t)
	h.Node = new(coretypes.ResultStatus)
	u := query.UpgradeState{Height: 20, Planned: &app.Upgrade{Name: "six", Height: 120, Version: app.Version + 1}}
	look := func() Finding {
		h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, u), "abci_info": fmt.Sprintf(
			`{"response":{"version":%q,"app_version":"%d"}}`, version.Version, app.Version)})
		return one(t, h, "program")
	}
	f := look()
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, fmt.Sprintf(`as the node that runs; upgrade "six" to version %d at height 120, in 100 `+
		"blocks: this program is not it", app.Version+1))
	u.Planned = nil
	require.Equal(t, OK, look().Level)
}
