//go:build e2e

package e2e

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	presets "github.com/spdl/spdl/app/preset"
)

// check holds the net to what must be true whatever was done to it, and returns how many rounds it
// has closed.
func (c *chaos) check() uint64 {
	c.Helper()
	c.oneChain()
	c.noHonestOffence()
	rounds := c.open(0)
	counts := c.counted(rounds)
	c.reach(rounds)
	for i := range c.clients {
		c.ledgerCovers(i, counts)
	}
	c.alive()
	return rounds
}

// oneChain compares block and application hashes of all nodes at every height that two of them have.
func (c *chaos) oneChain() {
	c.Helper()
	type at struct{ block, app string }
	known, by := map[int64]at{}, map[int64]int{}
	for i, client := range c.clients {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s, err := client.RPC().Status(ctx)
		require.NoError(c, err)
		for top := s.SyncInfo.LatestBlockHeight; top >= s.SyncInfo.EarliestBlockHeight; top -= 20 {
			r, err := client.RPC().BlockchainInfo(ctx, max(s.SyncInfo.EarliestBlockHeight, top-19), top)
			require.NoError(c, err)
			for _, m := range r.BlockMetas {
				if m == nil {
					require.True(c, c.holes && slices.Contains(c.struck, i), "node %d lacks a block of %d to %d", i, top-19, top)
					c.note("node %d lacks a block", i)
					continue
				}
				got, h := at{m.BlockID.Hash.String(), m.Header.AppHash.String()}, m.Header.Height
				if want, ok := known[h]; ok {
					require.Equal(c, want, got, "height %d, nodes %d and %d", h, by[h], i)
				}
				known[h], by[h] = got, i
			}
		}
	}
	require.NotEmpty(c, known)
}

// noHonestOffence: the chain convicts nobody who was not told to misbehave, and whoever was.
func (c *chaos) noHonestOffence() {
	c.Helper()
	for i := range c.clients {
		if c.guilty {
			c.eventually(func() bool { return len(c.offences(i)) > 0 }, "node %d has no offence of %v", i, c.struck)
		}
		for _, o := range c.offences(i) {
			require.True(c, c.guilty && slices.Contains(c.struck, int(o.Participant)), "node %d has an offence of honest participant %d: %+v", i, o.Participant, o)
		}
	}
}

// offences are those that a node has on file.
func (c *chaos) offences(i int) []app.Offence {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	offences, err := c.clients[i].Evidence(ctx)
	require.NoError(c, err)
	return offences
}

// counted is how many gradients of each participant the records of the first rounds hold.
func (c *chaos) counted(rounds uint64) []uint64 {
	c.Helper()
	counts := make([]uint64, c.n)
	for t := range rounds {
		for _, x := range c.record(0, t).Contributions {
			counts[x.Participant]++
		}
	}
	return counts
}

// ledgerCovers: what a node says that a participant has spent is never below what its gradients in
// the records cost. The node has closed their rounds.
func (c *chaos) ledgerCovers(i int, counts []uint64) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	spends, err := c.clients[i].Privacy(ctx)
	require.NoError(c, err)
	for p, count := range counts {
		require.GreaterOrEqual(c, spends[p].Participations, count, "node %d, participant %d", i, p)
		cost, err := presets.EpsilonAfter(c.Net.Genesis.Params.Privacy, count)
		require.NoError(c, err)
		require.NotNil(c, spends[p].Epsilon)
		require.GreaterOrEqual(c, *spends[p].Epsilon, cost, "node %d, participant %d, %d gradients", i, p, count)
	}
}
