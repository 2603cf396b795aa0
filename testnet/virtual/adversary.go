//go:build virtual

package virtual

import (
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/testnet/hostile"
	"github.com/spdl/spdl/testnet/link"
)

// unfinished is the name of the adversary that begins messages and never ends them.
const unfinished = "begins-messages-that-never-end"

// strangers is the rule for the links of adversaries. Its rate bounds a peer that sends without
// end. The links of begin have no rate, because their peers soon stop sending.
var strangers = link.Rule{Delay: 20 * time.Millisecond, Rate: 250_000}

// named returns the behaviours of package hostile by their names in histories.
func named() map[string]hostile.Behaviour {
	all := map[string]hostile.Behaviour{unfinished: {}}
	for _, b := range hostile.All() {
		all[strings.ReplaceAll(b.Name, " ", "-")] = b
	}
	return all
}

// Names returns the names of all adversaries, as histories have them.
func Names() []string { return slices.Sorted(maps.Keys(named())) }

// Adversary connects e.Node peers with the behaviour e.Name to all running nodes. The peers attack
// until the caller calls end.
func (t *Net) Adversary(e Event) (end func()) {
	b := named()[e.Name]
	var at []*p2p.Switch
	for _, m := range t.nodes {
		if m.running != nil {
			at = append(at, m.up())
		}
	}
	if len(at) == 0 {
		return func() {}
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for k := range e.Node {
		wg.Go(func() {
			key := p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
			for again := true; again; again = pause(quit, time.Second) {
				switch {
				case e.Name == unfinished:
					begin(k, at, quit)
					continue
				case b.Fresh:
					key = p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
				}
				attackOnce(k, key, b, at, quit)
			}
		})
	}
	return func() { close(quit); wg.Wait() }
}

// pause waits for the time d. It returns false as soon as quit is closed.
func pause(quit chan struct{}, d time.Duration) bool {
	select {
	case <-quit:
		return false
	case <-time.After(d):
		return true
	}
}

// infoOf returns the node info of a switch.
func infoOf(sw *p2p.Switch) p2p.DefaultNodeInfo { return sw.NodeInfo().(p2p.DefaultNodeInfo) }

// stranger returns the address of the k-th adversary.
func stranger(k int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+k)), Port: 26656} }

// attackOnce connects one peer to all nodes. It returns when all nodes have ended the connection,
// or when quit is closed.
func attackOnce(k int, key p2p.NodeKey, b hostile.Behaviour, at []*p2p.Switch, quit chan struct{}) {
	info := infoOf(at[0])
	info.ListenAddr = "127.0.0.1:1"
	v := &hostile.Peer{Behaviour: b, End: quit}
	sw, transport := v.Network(info, key)
	if sw.Start() != nil {
		return
	}
	var links []*Link
	var joining sync.WaitGroup
	for i, node := range at {
		l := NewLink(uint64(k), stranger(k), address(i))
		l.Set(strangers, strangers)
		links = append(links, l)
		timeout := time.AfterFunc(handshakeTime, l.Close)
		joining.Go(func() { _ = sw.AddConn(l.A) })
		joining.Go(func() {
			if node.AddConn(l.B) == nil {
				timeout.Stop()
			}
		})
	}
	joining.Wait()
	for sw.Peers().Size() > 0 && pause(quit, 100*time.Millisecond) {
	}
	for _, l := range links {
		l.Close()
	}
	_ = sw.Stop()
	_ = transport.Close()
}

// begin connects one peer to all nodes and begins messages that it never ends. It returns when quit
// is closed.
func begin(k int, at []*p2p.Switch, quit chan struct{}) {
	var wg sync.WaitGroup
	for i, node := range at {
		l := NewLink(uint64(k), stranger(k), address(i))
		l.Set(link.Rule{Delay: strangers.Delay}, link.Rule{Delay: strangers.Delay})
		wg.Go(func() { _ = node.AddConn(l.B) })
		wg.Go(func() {
			if s, err := hostile.Knock(l.A, infoOf(node)); err == nil && s.Begin(hostile.Unfinished) == nil {
				<-quit
			}
			l.Close()
		})
	}
	wg.Wait()
}
