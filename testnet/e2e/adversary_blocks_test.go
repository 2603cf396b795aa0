//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/hostile"
)

// TestHostileBlockPeers: a peer of four nodes does all that a peer can do on the channels of
// blocks. Rounds go on. A node that is started while peers with ever new ids say that the chain is
// much longer than it is trains again.
func TestHostileBlockPeers(t *testing.T) {
	const of = 3 * time.Second
	n := start(t, testnet.Manifest{Validators: 4, Strangers: true})
	n.reach(3)
	calm := n.spend(of)
	t.Logf("%-36s %+v", "calm", calm)
	for _, h := range hostile.Blocks {
		end := n.attackAll(h)
		l := n.spend(of)
		end()
		t.Logf("%-36s %+v", h.Name, l)
		require.Greater(t, l.rounds, 0, h.Name)
		require.Less(t, l.rss, calm.rss+(150<<20), h.Name)
	}
	end := n.attackAll(hostile.LongChain)
	defer end()
	time.Sleep(time.Second)
	require.NoError(t, n.Kill(3))
	require.NoError(t, n.Start(3))
	began := time.Now()
	n.eventually(func() bool {
		s, err := n.clients[3].RPC().Status(context.Background())
		return err == nil && !s.SyncInfo.CatchingUp
	}, "node 3 does not end its sync")
	t.Logf("node 3 was synced after %v", time.Since(began))
	n.reach(n.open(0) + 5)
	end()
	n.sameHashes()
}

// TestHostileOffers: peers of all nodes of a ring send every block back falsified, and answer no
// request. Rounds go on, at a quarter of the pace at least, as no round of consensus fails.
func TestHostileOffers(t *testing.T) {
	const of = 8 * time.Second
	n := start(t, testnet.Manifest{Validators: 7, Neighbours: 3, Strangers: true})
	n.reach(3)
	calm := n.spend(of)
	t.Logf("%-36s %+v", "calm", calm)
	var ends []func()
	for range 6 {
		ends = append(ends, n.attackAll(hostile.Falsifying))
	}
	time.Sleep(time.Second)
	l := n.spend(of)
	t.Logf("%-36s %+v", "six peers of all that falsify", l)
	require.Greater(t, l.rounds, calm.rounds/4)
	for _, end := range ends {
		end()
	}
	n.sameHashes()
}
