package history_test

import (
	"fmt"
	"testing"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/history"
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
	read := func(most int) *history.Chain {
		src, err := audit.OpenHome(c)
		require.NoError(t, err)
		defer func() { require.NoError(t, src.Close()) }()
		h, err := history.Read(t.Context(), src, e, most, nil)
		require.NoError(t, err)
		require.Nil(t, h.Audit.Divergence)
		return h
	}
	all := read(history.Most)
	require.Len(t, all.Rounds, 11)
	for i, r := range all.Rounds {
		require.Equal(t, []any{uint64(i), saw[i].Height, saw[i].Leader, saw[i].View, saw[i].Included},
			[]any{r.Round, r.Height, r.Leader, r.View, len(r.Contributions)})
		require.InDelta(t, *saw[i].TestAccuracy, r.Accuracy, 1e-12)
		require.InDelta(t, *saw[i].Epsilon, r.Epsilon, 1e-12)
		require.Positive(t, r.Loss)
		require.Equal(t, i > 0, r.Took > 0)
		for _, c := range r.Contributions {
			require.InDelta(t, float64(c.Reputation)/params.One, r.Reputations[c.Participant], 1e-12)
		}
	}
	text, err := history.Page(all, history.Origin{Command: "spdl-lab report <there>", Version: "v0"})
	require.NoError(t, err)
	for _, part := range []string{
		"heights 1 to", "A TEST CHAIN", "spdl-lab report &lt;there&gt;", "version v0",
		`<svg class="chart"`, "node3",
		fmt.Sprintf(">%.2f %%</bdi></td>", 100**saw[10].TestAccuracy), all.Audit.AppHash,
	} {
		require.Contains(t, string(text), part)
	}
	for _, outside := range []string{"http://", "https://", "<script"} {
		require.NotContains(t, string(text), outside)
	}
	few := read(4) // thinned when there are four: 2 4, then 4 8, and the last
	var at []float64
	for _, r := range few.Rounds {
		at = append(at, r.At)
		require.Equal(t, all.Rounds[int(r.At)-1].Accuracy, r.Accuracy)
	}
	require.Equal(t, []float64{4, 8, 11}, at)
	included := 0 // as few as it was in, on a machine that made it late
	for _, r := range all.Rounds {
		for _, c := range r.Contributions {
			if c.Participant == 0 {
				included++
			}
		}
	}
	require.Equal(t, included, few.Count[0].Included, "all rounds count")
	text, err = history.Page(few, history.Origin{})
	require.NoError(t, err)
	require.Contains(t, string(text), "Rounds: 3 of 11")
}
