//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/testnet"
)

// TestTolerance: on four nodes with a tolerance of 4 grid steps, rounds that the leader just inside
// it leads close in its view, with a Delta that is off by exactly that in every coordinate, and the
// leader keeps its reputation. Rounds of the leader just outside are closed by the next one, and
// cost it some. Neither is an offence, and nobody's state differs.
func TestTolerance(t *testing.T) {
	const inside, outside, delta = 1, 2, 4
	t.Setenv("SPDL_PROPOSAL_WAIT", "2s")
	t.Setenv("SPDL_PROPOSAL_STRAGGLER_WAIT", "300ms")
	t.Setenv("CMT_CONSENSUS_TIMEOUT_PROPOSE", "4s")
	// Little noise is over many rounds, so that a grid step is short beside the clip norm.
	n := start(t, testnet.Manifest{Rule: "mean", Tolerance: delta, Rounds: 400, Epsilon: 50, Attacks: []testnet.Attack{
		{Node: inside, Kind: "shift-delta"}, {Node: outside, Kind: "shift-beyond"},
	}})
	accepted, passed := 0, 0
	for round := uint64(0); accepted < 3 || passed < 2; round++ {
		r := n.record(0, round)
		require.NotEqual(t, uint32(outside), r.Leader, "round %d", round)
		if len(r.Ranking) > 0 && r.Ranking[0] == outside {
			require.Positive(t, r.View, "round %d", round)
			passed++
			// The next round judges this one; it is earned back in two. Of round 0 nobody says anything that still started then.
			for _, c := range n.record(0, round+1).Contributions {
				if c.Participant == outside && int(r.View) < len(r.Ranking) && round > 0 {
					require.Less(t, c.Reputation, int64(params.One), "round %d", round)
				}
			}
		}
		switch off := n.off(r); r.Leader {
		case inside:
			require.Equal(t, int64(delta), off, "round %d", round)
			accepted++
		default:
			require.Zero(t, off, "round %d: its leader is honest", round)
		}
	}
	offences, err := n.clients[0].Evidence(context.Background())
	require.NoError(t, err)
	require.Empty(t, offences)
	heights := n.sameHashes()
	t.Logf("%d rounds of the leader at delta closed, %d of the one beyond it were passed over; %d heights agree", accepted,
		passed, heights)
}

// off returns by how many grid steps the Delta of a round's block is off the mean of its gradients:
// in all coordinates the same, or 0.
func (n *net) off(r app.Record) int64 {
	n.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	block, err := n.clients[0].Block(ctx, r.Height)
	require.NoError(n, err)
	first, err := tx.Decode(block.Txs[0])
	require.NoError(n, err)
	p := n.Net.Genesis.Params
	width, d, den := p.Grid.Lattice().Width, p.Model.Dim(), int64(len(r.Contributions))
	given, err := gradients.DecodeFraction(width, d, den, first.Aggregate.Delta)
	require.NoError(n, err)
	sum := make([]int64, d)
	for i := range r.Contributions {
		g, err := tx.Decode(block.Txs[1+i])
		require.NoError(n, err)
		v, err := gradients.Decode(width, d, g.Gradient.Payload)
		require.NoError(n, err)
		for j := range sum {
			sum[j] += v.At(j)
		}
	}
	gap := max(given.Num[0]-sum[0], sum[0]-given.Num[0])
	for j := range sum {
		require.Equal(n, gap, max(given.Num[j]-sum[j], sum[j]-given.Num[j]), "coordinate %d", j)
	}
	require.Zero(n, gap%den)
	return gap / den
}
