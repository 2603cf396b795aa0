//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/hostile"
)

// Crowds of 1, 3, 10 and 40 are at the net, one after the other. A round takes at most 1.3 times as
// long as without them. A net that lets in strangers is slower beside many of them, whose work is
// done on the same machine too: there the rounds are reported. A history of testnet/virtual has each
// behaviour of a single adversary.
var crowdCells = []cell{
	{name: "crowd-idle", long: true, do: crowded(func(c *chaos, k int) func() { return c.crowd(k) })},
	{name: "crowd-heights", long: true, do: crowded(heightsCrowd)},
	{name: "crowd-heights-let-in", long: true, strangers: true, do: crowded(heightsCrowd)},
	{name: "crowd-announcements", long: true, do: crowded(announcingCrowd)},
	{name: "crowd-announcements-let-in", long: true, strangers: true, do: crowded(announcingCrowd)},
	{name: "crowd-withheld-let-in", long: true, strangers: true,
		do: crowded(func(c *chaos, k int) func() { return c.let(k, hostile.Withholding) })},
	{name: "crowd-joins", long: true, do: crowded((*chaos).joins)},
	{name: "crowd-inside", long: true, hosts: 7, do: func(c *chaos) { c.compare("all hosts", c.inside) }},
}

func heightsCrowd(c *chaos, k int) func()    { return c.let(k, hostile.Heights) }
func announcingCrowd(c *chaos, k int) func() { return c.let(k, hostile.IdleAnnouncements) }

// crowded lets each crowd in, one after the other.
func crowded(let func(c *chaos, k int) (end func())) func(*chaos) {
	return func(c *chaos) {
		for _, k := range []int{1, 3, 10, 40} {
			c.compare(fmt.Sprint(k), func() func() { return let(c, k) })
		}
	}
}

// compare holds the rounds beside a crowd against those without, in turns: the best of four pairs
// counts, because all else on the machine only makes rounds longer.
func (c *chaos) compare(crowd string, let func() (end func())) {
	c.Helper()
	best := 0.0
	missing, views := 0, 0
	for range 4 {
		calm := c.spend(3 * time.Second)
		end := let()
		time.Sleep(time.Second)
		from := c.open(0)
		hurt := c.spend(3 * time.Second)
		for round := from; round < c.open(0); round++ {
			if c.record(0, round).View > 0 {
				views++
			}
		}
		end()
		missing += hurt.missing
		best = max(best, float64(hurt.rounds)/float64(max(1, calm.rounds)))
	}
	c.note("%s: rounds x %.2f, %d without somebody, %d views lost", crowd, best, missing, views)
	if !c.strangers {
		require.Greater(c, best, 1/1.3, "a crowd of %s", crowd)
	}
}

// let lets strangers in, each at all nodes.
func (c *chaos) let(k int, b hostile.Behaviour) func() {
	var ends []func()
	for range k {
		ends = append(ends, c.attackAll(b))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// joins sends seven Joins of new keys a second for each of a crowd.
func (c *chaos) joins(k int) func() {
	flood := make([][]byte, 7*k*5)
	for i := range flood {
		flood[i] = joinOf(c.T, c.Net.Manifest.ChainID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(7*k))
		defer tick.Stop()
		for i := 0; i < len(flood) && ctx.Err() == nil; i++ {
			<-tick.C
			_, _ = c.clients[i%c.n].RPC().BroadcastTxAsync(ctx, flood[i])
		}
	})
	return func() { cancel(); wg.Wait() }
}

// inside lets the hosts of the struck members attack, each in a different way.
func (c *chaos) inside() func() {
	harms := []hostile.Behaviour{hostile.Heights, hostile.IdleAnnouncements, hostile.Withholding, hostile.Deaf}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for i, key := range c.own {
		x := harms[i%len(harms)]
		wg.Go(func() {
			for {
				c.dialAll(key, quit, x)
				select {
				case <-quit:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return func() { close(quit); wg.Wait() }
}

// register gives each struck participant of a net that does not run yet more hosts, which the net
// then takes for a member's.
func (c *chaos) register(made *testnet.Net, hosts int) {
	file := filepath.Join(made.Nodes[0].Home, "config", "genesis.json")
	doc, err := genesis.ReadFile(file)
	require.NoError(c, err)
	g, err := app.DecodeGenesis(doc.AppState)
	require.NoError(c, err)
	for _, i := range c.struck {
		p := &g.Participants[i]
		for range hosts {
			key := p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
			c.own = append(c.own, key)
			p.NodeIds = append(p.NodeIds, string(key.ID()))
		}
		slices.Sort(p.NodeIds)
	}
	doc.AppState, err = g.Encode()
	require.NoError(c, err)
	for _, x := range made.Nodes {
		require.NoError(c, doc.SaveAs(filepath.Join(x.Home, "config", "genesis.json")))
	}
}
