//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/stage"
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

// absence returns what one node of four that is away adds to the mean round, by the nodes'
// settings: every fourth height meets its turn, which costs a tenth of timeout_propose and
// timeout_precommit, and a round has one height, or with commitments two; and at most one round of
// sixteen waits for it in each of quorum_blocks heights.
func (n *net) absence() time.Duration {
	n.Helper()
	c, a, err := home.Load(n.Net.Nodes[0].Home)
	require.NoError(n, err)
	turn := c.Consensus.TimeoutPropose/10 + c.Consensus.TimeoutPrecommit
	if n.Net.Genesis.Params.Election.CommitReveal {
		turn *= 2
	}
	return turn/4 + time.Duration(n.Net.Genesis.Params.Election.QuorumBlocks)*a.Proposal.StragglerWait/16
}

// TestOneAwayOfFour: with one node of four away the mean round takes at most twice what the
// settings let it take, however quick rounds are. The median round of one height takes at most
// three times the round with all; of rounds of two heights every other meets the turn of the node
// that is away. The node is in the rounds again soon after it is back.
func TestOneAwayOfFour(t *testing.T) {
	for _, reveal := range []bool{false, true} {
		t.Run(fmt.Sprintf("commit-reveal=%t", reveal), func(t *testing.T) { oneAway(t, reveal) })
	}
}

func oneAway(t *testing.T, reveal bool) {
	const away = 3
	rounds := stage.Pick[uint64](30, 30, 60)
	n := start(t, testnet.Manifest{Validators: 4, CommitReveal: &reveal})
	from := n.record(0, 10).Round
	n.record(0, from+rounds)
	median, mean := middle(n.took(0, from+1, from+rounds))

	require.NoError(t, n.Kill(away))
	from = n.open(0) + 8 // the first rounds find out
	n.record(0, from+rounds)
	without, average := middle(n.took(0, from+1, from+rounds))
	t.Logf("median round %v with all, %v without one (%.1f times); mean %v and %v (%.1f times), by the settings %v",
		median, without, float64(without)/float64(median), mean, average, float64(average)/float64(mean), mean+n.absence())
	if !reveal {
		require.LessOrEqual(t, without, 3*median)
	}
	require.LessOrEqual(t, average, 2*(mean+n.absence()))

	require.NoError(t, n.Start(away))
	back := n.open(0)
	includes := func(round uint64) bool {
		return slices.ContainsFunc(n.record(0, round).Contributions,
			func(c app.Contribution) bool { return c.Participant == away })
	}
	n.eventually(func() bool { back++; return includes(back - 1) }, "no round includes node %d, which is back", away)
	missed := 0 // anybody's gradient may miss a round; who misses three in a row is away
	for round := back; round < back+20; round++ {
		if missed++; includes(round) {
			missed = 0
		}
		require.Less(t, missed, 3, "round %d is after %d, which included node %d", round, back-1, away)
	}
}
