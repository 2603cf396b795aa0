//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/hostile"
)

// TestLiesAboutHeights: a net lets in strangers, and forty of them say that they are beyond its
// height. Proposers wait for a worker that is 300 ms slower than the rest as they did before.
func TestLiesAboutHeights(t *testing.T) {
	const slow = 3
	t.Setenv("SPDL_PROPOSAL_WAIT", "1s") // what init writes
	t.Setenv("SPDL_PROPOSAL_STRAGGLER_WAIT", "250ms")
	t.Setenv("CMT_CONSENSUS_TIMEOUT_PROPOSE", "1500ms")
	n := start(t, testnet.Manifest{Validators: 4, Strangers: true}, func(made *testnet.Net) {
		file := filepath.Join(made.Nodes[slow].Home, "config", "app.toml")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		delay := regexp.MustCompile(`(?m)^step_delay = .*$`)
		require.NoError(t, os.WriteFile(file, delay.ReplaceAll(text, []byte(`step_delay = "300ms"`)), 0o600))
	})
	n.reach(5)
	for _, k := range stage.Pick([]int{40}, []int{40}, []int{0, 4, 36}) {
		for range k {
			defer n.attackAll(hostile.Heights)()
		}
		time.Sleep(2 * time.Second)
		first := n.open(0)
		time.Sleep(20 * time.Second)
		rounds, missed, passed := 0, 0, 0
		for round := first; round < n.open(0); round++ {
			r := n.record(0, round)
			rounds++
			if len(r.Contributions) < 4 {
				missed++
			}
			if r.View > 0 && !slices.Contains(r.Ranking[:r.View], slow) {
				passed++
			}
		}
		t.Logf("%d more liars: %d rounds, %d without somebody, %d leaders passed over", k, rounds, missed, passed)
		require.Greater(t, rounds, 20)
		require.LessOrEqual(t, 100*missed, rounds, "the slow worker is in 99 of 100 rounds")
		require.Zero(t, passed)
	}
}

// TestSeldom: a participant that takes part in one round of three costs the others at most three of
// ten rounds, once the chain recalls it no more than once in 128 rounds.
func TestSeldom(t *testing.T) {
	rounds := map[string]int{}
	for _, kind := range []string{"", "seldom"} {
		t.Run("kind="+kind, func(t *testing.T) {
			m := testnet.Manifest{Validators: 4}
			if kind != "" {
				m.Attacks = []testnet.Attack{{Node: 3, Kind: kind}}
			}
			n := start(t, m)
			n.reach(130)
			first := n.open(0)
			time.Sleep(15 * time.Second)
			rounds[kind] = int(n.open(0) - first)
		})
	}
	t.Logf("%d rounds in 15 s with all, %d where one takes part in one of three", rounds[""], rounds["seldom"])
	require.Greater(t, 1.3*float64(rounds["seldom"]), float64(rounds[""]))
}
