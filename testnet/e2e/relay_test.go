//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/hostile"
)

// listeners returns the addresses at which a process listens for TCP, in the hexadecimal form of
// /proc/net/tcp.
func listeners(t *testing.T, pid int) (all []string) {
	t.Helper()
	inodes := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
				all = append(all, f[1])
			}
		}
	}
	return all
}

// peers returns the ids of the peers of a node.
func (n *net) peers(i int) (ids []p2p.ID) {
	n.Helper()
	info, err := n.clients[i].RPC().NetInfo(context.Background())
	require.NoError(n, err)
	for _, p := range info.Peers {
		ids = append(ids, p.NodeInfo.DefaultNodeID)
	}
	return ids
}

// closed returns how many rounds the first n validators close in a time.
func (n *net) closed(d time.Duration) int {
	n.Helper()
	first := n.open(0)
	time.Sleep(d)
	n.alive()
	return int(n.open(0) - first)
}

// lie puts a liar at the place of a relay that does not run, with its key and address, until the
// function that it returns is called. It forwards nothing, says of every transaction that it is
// announced that it is sending it, and announces what does not exist.
func (n *net) lie(i int, info p2p.DefaultNodeInfo) (end func()) {
	n.Helper()
	key, err := p2p.LoadNodeKey(filepath.Join(n.Net.Nodes[i].Home, "config", "node_key.json"))
	require.NoError(n, err)
	b := hostile.Withholding
	b.Attack = hostile.Repeated(func(_ *hostile.Peer, p p2p.Peer) bool {
		time.Sleep(100 * time.Millisecond)
		return hostile.Say(p, reactor.Gossip{Have: hostile.Hashes(100)})
	})
	quit := make(chan struct{})
	v := &hostile.Peer{Behaviour: b, End: quit}
	sw, transport := v.Network(info, *key)
	at, err := info.NetAddress()
	require.NoError(n, err)
	require.NoError(n, transport.Listen(*at))
	require.NoError(n, sw.Start())
	n.eventually(func() bool { return sw.Peers().Size() >= 7 }, "the validators dial the liar")
	return func() {
		close(quit)
		require.NoError(n, sw.Stop())
		require.NoError(n, transport.Close())
	}
}

// TestRelays: seven validators without a port that others reach train through three relays. One
// relay is killed and training goes on with the gradients of all. A liar takes its place, and
// training goes on. The relay comes back, and catches up.
func TestRelays(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 7, Relays: 3})
	n.reach(3)
	relays := n.infos()[7:]
	for i := range 7 {
		for _, at := range listeners(t, n.PID(i)) {
			require.True(t, strings.HasPrefix(at, "0100007F:"), "node %d listens at %s: not the loopback", i, at)
		}
		for _, peer := range n.peers(i) {
			require.Contains(t, []p2p.ID{relays[0].DefaultNodeID, relays[1].DefaultNodeID, relays[2].DefaultNodeID}, peer,
				"validator %d is connected to relays alone", i)
		}
	}
	for i := 7; i < 10; i++ {
		n.eventually(func() bool { return len(n.peers(i)) == 9 }, "relay %d knows the validators and the other relays", i)
	}

	require.NoError(t, n.Kill(8))
	began, at := time.Now(), n.open(0)
	rounds := n.closed(5 * time.Second)
	t.Logf("one relay of three killed: %d rounds in 5 s", rounds)
	n.eventually(func() bool { return n.open(0) >= at+10 }, "rounds go on without a relay")
	t.Logf("ten rounds %v after the kill", time.Since(began))
	whole := 0
	for r := at; r < at+10; r++ {
		if len(n.record(0, r).Contributions) == 7 {
			whole++
		}
	}
	require.GreaterOrEqual(t, whole, 7, "with the gradients of all")

	end := n.lie(8, relays[1])
	at = n.open(0)
	t.Logf("one relay of three lies: %d rounds in 5 s", n.closed(5*time.Second))
	n.eventually(func() bool { return n.open(0) >= at+10 }, "rounds go on beside a relay that lies")
	end()

	require.NoError(t, n.Start(8))
	at = n.open(0)
	n.eventually(func() bool { r, ok := n.round(8); return ok && r >= at+3 }, "the relay is back")
	n.reach(at + 5)
	n.sameHashes()
}
