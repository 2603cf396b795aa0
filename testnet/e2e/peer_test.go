//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/testnet/hostile"
)

// attackAll connects an adversary to all nodes, and again where a node ends the connection, until
// the function that it returns is called.
func (n *net) attackAll(b hostile.Behaviour) (end func()) {
	quit, key := make(chan struct{}), p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if b.Fresh {
				key = p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
			}
			n.dialAll(key, quit, b)
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// dialAll returns when all nodes have ended the connection.
func (n *net) dialAll(key p2p.NodeKey, quit chan struct{}, b hostile.Behaviour) {
	status, err := n.clients[0].RPC().Status(context.Background())
	if err != nil {
		return
	}
	info := status.NodeInfo
	info.ListenAddr = "127.0.0.1:1"
	v := &hostile.Peer{Behaviour: b, End: quit}
	sw, _ := v.Network(info, key)
	if sw.Start() != nil {
		return
	}
	defer func() { _ = sw.Stop() }()
	for _, c := range n.clients {
		s, err := c.RPC().Status(context.Background())
		if err != nil { // it is not there yet
			continue
		}
		to, err := s.NodeInfo.NetAddress()
		if err == nil {
			_ = sw.DialPeerWithAddress(to)
		}
	}
	for sw.Peers().Size() > 0 {
		select {
		case <-quit:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// load is what four nodes did in a time.
type load struct {
	rounds, missing int
	cpu             time.Duration // of all nodes
	rss             int64         // the most of a node
	gap             time.Duration // the longest between two rounds
}

// spend measures a net for a time.
func (n *net) spend(d time.Duration) (l load) {
	n.Helper()
	before, _ := n.CPU()
	first, at := n.open(0), time.Now()
	for begin, last := time.Now(), first; time.Since(begin) < d; time.Sleep(10 * time.Millisecond) {
		n.alive()
		if now := n.open(0); now > last {
			last, l.gap, at = now, max(l.gap, time.Since(at)), time.Now()
		}
	}
	l.gap = max(l.gap, time.Since(at))
	after, _ := n.CPU()
	last := n.open(0)
	l.rounds = int(last - first)
	for r := first; r < last; r++ {
		if len(n.record(0, r).Contributions) < len(n.clients) {
			l.missing++
		}
	}
	for i := range after {
		l.cpu += after[i] - before[i]
		l.rss = max(l.rss, resident(n.PID(i)))
	}
	return l
}

func resident(pid int) (bytes int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, pages int64
	_, _ = fmt.Sscan(string(data), &size, &pages)
	return pages * int64(os.Getpagesize())
}
