package history

import (
	"fmt"
	"testing"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/testnet"
)

// TestRead: the report of a net's chain says what the net's followers saw, and
// that of a long chain every second round, or fourth, and the last.
func TestRead(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Rounds: 11, Seed: 5})
	require.NoError(t, err)
	e, err := n.Evaluator(t.Context())
	require.NoError(t, err)
	nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	var saw []testnet.Round
	err = testnet.Follow(t.Context(), n, e, func(r testnet.Round) error {
		saw = append(saw, r)
		return nil
	})
	require.NoError(t, nodes.Stop())
	require.NoError(t, err)
	c, _, err := home.Load(n.Nodes[2].Home)
	require.NoError(t, err)
	history := func(most int) *Chain {
		src, err := audit.OpenHome(c)
		require.NoError(t, err)
		defer func() { require.NoError(t, src.Close()) }()
		h, err := read(t.Context(), src, e, nil, most)
		require.NoError(t, err)
		require.Nil(t, h.Audit.Divergence)
		return h
	}
	all := history(most)
	require.Len(t, all.rounds, 11)
	onTime := true
	for i, r := range all.rounds {
		require.Equal(t, []any{uint64(i), saw[i].Height, saw[i].Leader, saw[i].View, saw[i].Included},
			[]any{r.Round, r.Height, r.Leader, r.View, len(r.Contributions)})
		require.InDelta(t, 1-*saw[i].TestAccuracy, r.wrong, 1e-12)
		require.InDelta(t, *saw[i].Epsilon, r.epsilon, 1e-12)
		onTime = onTime && r.View == 0
		for _, c := range r.Contributions {
			require.InDelta(t, float64(c.Reputation)/params.One, r.reputations[c.Participant], 1e-12)
			if onTime { // else a leader of this machine was slow, and passed over
				require.EqualValues(t, 1, r.reputations[c.Participant], "nobody attacks")
			}
		}
	}
	page, err := all.Page("spdl-figures report <there>", "v0")
	require.NoError(t, err)
	for _, part := range []string{
		"11 rounds in heights 1 to", "A TEST CHAIN", "spdl-figures report &lt;there&gt;", "version: v0",
		"data:image/svg&#43;xml;base64,", "node3",
		fmt.Sprintf("<td>%.4f</td>", 1-*saw[10].TestAccuracy), all.Audit.AppHash,
	} {
		require.Contains(t, string(page), part)
	}
	for _, outside := range []string{"http://", "https://", "<script"} {
		require.NotContains(t, string(page), outside)
	}
	few := history(4) // thinned when there are four: 2 4, then 4 8, and the last
	var at []float64
	for _, r := range few.rounds {
		at = append(at, r.at)
		require.Equal(t, all.rounds[int(r.at)-1].wrong, r.wrong)
	}
	require.Equal(t, []float64{4, 8, 11}, at)
	included := 0 // as few as it was in, on a machine that made it late
	for _, r := range all.rounds {
		for _, c := range r.Contributions {
			if c.Participant == 0 {
				included++
			}
		}
	}
	require.Equal(t, included, few.count[0].included, "all rounds count")
	page, err = few.Page("", "")
	require.NoError(t, err)
	require.Contains(t, string(page), "Rounds: 3 of 11")
}
