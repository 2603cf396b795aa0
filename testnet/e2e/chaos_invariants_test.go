//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	presets "github.com/spdl/spdl/app/preset"
)

// check holds the net to what must be true whatever was done to it, and returns how many rounds it
// has closed.
func (c *chaos) check() uint64 {
	c.Helper()
	c.oneChain()
	c.noHonestOffence()
	sound := c.sound()[0]
	rounds := c.open(sound)
	counts := c.counted(sound, rounds)
	c.reach(rounds)
	for i := range c.clients {
		c.ledgerCovers(i, counts)
	}
	for _, i := range c.struck {
		if lacks := c.missing(i, rounds); lacks > 0 {
			require.True(c, c.holes, "node %d lacks %d records", i, lacks)
			c.note("node %d lacks %d records", i, lacks)
		}
	}
	c.alive()
	return rounds
}

// sound are the nodes that are not struck.
func (c *chaos) sound() (all []int) {
	for i := range c.n {
		if !slices.Contains(c.struck, i) {
			all = append(all, i)
		}
	}
	return all
}

// missing is how many records of the first rounds a node lacks.
func (c *chaos) missing(i int, rounds uint64) (lacks int) {
	for t := range rounds {
		var refusal *client.Refusal
		_, err := client.Ask[app.Record](context.Background(), c.clients[i], fmt.Sprintf("/round/%d", t))
		if errors.As(err, &refusal) {
			lacks++
		}
	}
	return lacks
}

// oneChain compares block and application hashes of all nodes at every height that two of them
// have.
func (c *chaos) oneChain() {
	c.Helper()
	type at struct{ block, app string }
	known, by := map[int64]at{}, map[int64]int{}
	for i, node := range c.clients {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s, err := node.RPC().Status(ctx)
		require.NoError(c, err)
		lacks := 0
		for top := s.SyncInfo.LatestBlockHeight; top >= s.SyncInfo.EarliestBlockHeight; top -= 20 {
			r, err := node.RPC().BlockchainInfo(ctx, max(s.SyncInfo.EarliestBlockHeight, top-19), top)
			require.NoError(c, err)
			for _, m := range r.BlockMetas {
				if m == nil {
					require.True(c, c.holes && slices.Contains(c.struck, i), "node %d lacks a block of %d to %d", i, top-19, top)
					lacks++
					continue
				}
				got, h := at{m.BlockID.Hash.String(), m.Header.AppHash.String()}, m.Header.Height
				if want, ok := known[h]; ok {
					require.Equal(c, want, got, "height %d, nodes %d and %d", h, by[h], i)
				}
				known[h], by[h] = got, i
			}
		}
		if lacks > 0 {
			c.note("node %d lacks %d blocks", i, lacks)
		}
	}
	require.NotEmpty(c, known)
}

// noHonestOffence: the chain convicts nobody who was not told to misbehave, and each participant
// that was.
func (c *chaos) noHonestOffence() {
	c.Helper()
	for i := range c.clients {
		if c.guilty {
			c.eventually(func() bool { return len(c.offences(i)) > 0 }, "node %d has no offence of %v", i, c.struck)
		}
		for _, o := range c.offences(i) {
			require.True(c, c.guilty && slices.Contains(c.struck, int(o.Participant)),
				"node %d has an offence of honest participant %d: %+v", i, o.Participant, o)
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

// counted is how many gradients of each participant a node's records of the first rounds hold.
func (c *chaos) counted(i int, rounds uint64) []uint64 {
	c.Helper()
	counts := make([]uint64, c.n)
	for t := range rounds {
		for _, x := range c.record(i, t).Contributions {
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
	spends, err := client.Ask[[]query.Spend](ctx, c.clients[i], "/privacy")
	require.NoError(c, err)
	for p, count := range counts {
		require.GreaterOrEqual(c, spends[p].Participations, count, "node %d, participant %d", i, p)
		cost, err := presets.EpsilonAfter(c.Net.Genesis.Params.Privacy, count)
		require.NoError(c, err)
		require.NotNil(c, spends[p].Epsilon)
		require.GreaterOrEqual(c, *spends[p].Epsilon, cost, "node %d, participant %d, %d gradients", i, p, count)
	}
}
