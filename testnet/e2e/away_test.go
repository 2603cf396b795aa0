//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// took returns how long each of the rounds from first to last took by the blocks' times, as node i
// has them: from the block that closed the round before to the one that closed it.
func (n *net) took(i int, first, last uint64) (all []time.Duration) {
	n.Helper()
	var before time.Time
	for round := first - 1; round <= last; round++ {
		height := int64(n.record(i, round).Height)
		h, err := n.clients[i].RPC().Header(context.Background(), &height)
		require.NoError(n, err)
		if round >= first {
			all = append(all, h.Header.Time.Sub(before))
		}
		before = h.Header.Time
	}
	return all
}

// middle returns the median and the mean.
func middle(all []time.Duration) (median, mean time.Duration) {
	sorted := slices.Sorted(slices.Values(all))
	for _, d := range sorted {
		mean += d / time.Duration(len(sorted))
	}
	return sorted[len(sorted)/2], mean
}

// TestOneAwayOfFour: with one node of four away a round costs at most three times the round with
// all, in the median and on average; and it is in the rounds again soon after it is back.
func TestOneAwayOfFour(t *testing.T) {
	const away, rounds = 3, 60
	n := start(t, testnet.Manifest{Validators: 4})
	from := n.record(0, 10).Round
	n.record(0, from+rounds)
	median, mean := middle(n.took(0, from+1, from+rounds))

	require.NoError(t, n.Kill(away))
	from = n.open(0) + 8 // the first rounds find out
	n.record(0, from+rounds)
	without, average := middle(n.took(0, from+1, from+rounds))
	t.Logf("median round %v with all, %v without one (%.1f times); mean %v and %v (%.1f times)",
		median, without, float64(without)/float64(median), mean, average, float64(average)/float64(mean))
	require.LessOrEqual(t, without, 3*median)
	require.LessOrEqual(t, average, 3*mean)

	require.NoError(t, n.Start(away))
	back := n.open(0)
	n.eventually(func() bool {
		r := n.record(0, back)
		back++
		return slices.ContainsFunc(r.Contributions, func(c app.Contribution) bool { return c.Participant == away })
	}, "no round includes node %d, which is back", away)
	for round := back; round < back+20; round++ {
		require.Len(t, n.record(0, round).Contributions, 4, "round %d is after %d, which included all", round, back-1)
	}
}
