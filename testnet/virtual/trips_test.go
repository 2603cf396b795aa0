//go:build virtual

package virtual

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/link"
)

var zones = flag.String("zones", "", "zones of TestTrips, to which the nodes are dealt in turn; empty: all links have "+
	"the same delay")

// TestTrips measures a round in one-way trips over the slowest link. Computing takes no virtual
// time, so only messages that wait for other messages count: the gradient, the leader's aggregate,
// the proposal and two votes; with commit-reveal also the commitment, its proposal and its two
// votes. If all links have the same delay, a round takes at most these trips, plus half a trip for
// waits that are not messages.
func TestTrips(t *testing.T) {
	for name, trips := range map[string]float64{"paper": 5, "default": 9} {
		t.Run(name, func(t *testing.T) {
			longest, far := 100*time.Millisecond, func(int, int) link.Rule { return link.Rule{Delay: 100 * time.Millisecond} }
			if *zones != "" {
				m := testnet.Manifest{Home: "unused", Validators: *nodes,
					Zones: testnet.DealZones(strings.Split(*zones, ","), *nodes)}
				require.NoError(t, m.Check())
				longest, far = m.LongestRoundTrip()/2, m.LinkRule
			}
			mean := roundTime(t, name, far)
			took := float64(mean) / float64(longest)
			fmt.Printf("%d nodes, preset %s: %v a round, %.2f of the longest one-way trip, %v\n", *nodes, name,
				mean.Round(time.Millisecond), took, longest)
			if *zones == "" {
				require.InDelta(t, trips, took, 0.5)
			}
		})
	}
}

// roundTime returns the mean virtual time of a round of a preset, without the first rounds, in which
// connections are made.
func roundTime(t *testing.T, name string, far func(from, to int) link.Rule) (mean time.Duration) {
	const skipped, rounds = 5, 30
	p, err := preset.Make(name, *nodes, preset.Own{Rounds: 100_000})
	require.NoError(t, err)
	v, err := Make(disk(t), History{Nodes: *nodes}, p, Data, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), far)
	require.NoError(t, err)
	synctest.Test(t, func(*testing.T) {
		for i := range v.nodes {
			require.NoError(t, v.Start(i))
		}
		await := func(round uint64) time.Time {
			for v.State(0) == nil || v.State(0).Progress.Round < round {
				time.Sleep(time.Millisecond)
			}
			return time.Now()
		}
		from := await(skipped)
		mean = await(skipped+rounds).Sub(from) / rounds
		require.NoError(t, v.Close())
		time.Sleep(5 * time.Minute) // goroutines of CometBFT and LevelDB end when they wake up
	})
	return mean
}
