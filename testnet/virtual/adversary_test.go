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

// unfinished maps the names of the adversaries that begin messages and never end them to the number
// of bytes that they send on each channel.
var unfinished = map[string]map[int32]int{
	"begins-messages-that-never-end": hostile.Unfinished,
	"begins-small-messages-that-never-end": { // which the limits of a chain with a small model allow
		0x40: 1400_000, 0x30: 120_000, 0x51: 120_000, 0x38: 60_000, 0x21: 64_000},
}

// strangers is the rule for the links of adversaries. Its rate bounds a peer that sends without
// end. The links of begin have no rate, because their peers soon stop sending.
var strangers = link.Rule{Delay: 20 * time.Millisecond, Rate: 250_000}

// named returns the behaviours of package hostile by their names in histories.
func named() map[string]hostile.Behaviour {
	all := map[string]hostile.Behaviour{}
	for name := range unfinished {
		all[name] = hostile.Behaviour{}
	}
	for _, b := range hostile.All() {
		all[strings.ReplaceAll(b.Name, " ", "-")] = b
	}
	return all
}

// Names returns the names of all adversaries, as histories have them.
func Names() []string { return slices.Sorted(maps.Keys(named())) }

// Adversary connects e.Node peers with the behaviour e.Name to all nodes while they run. The peers attack
// until the caller calls end.
func (t *Net) Adversary(e Event) (end func()) {
	b, quit := named()[e.Name], make(chan struct{})
	var wg sync.WaitGroup
	for k := range e.Node {
		wg.Go(func() {
			key := p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
			for again := true; again; again = pause(quit, time.Second) {
				switch {
				case unfinished[e.Name] != nil:
					t.begin(k, unfinished[e.Name], quit)
					continue
				case b.Fresh:
					key = p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
				}
				t.attackOnce(k, key, b, quit)
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

// stranger returns the address of the k-th adversary.
func stranger(k int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 1+byte(k/250), byte(1+k%250)), Port: 26656}
}

// infoOf returns the node info of the first running node.
func (t *Net) infoOf() (info p2p.DefaultNodeInfo, ok bool) {
	for _, m := range t.nodes {
		if sw := m.network.Load(); sw != nil {
			return sw.NodeInfo().(p2p.DefaultNodeInfo), true
		}
	}
	return info, false
}

// attackOnce connects one peer to all running nodes, and again to a node that has ended the connection or
// has started since. It returns when quit is closed. A Fresh peer connects once, and attackOnce also
// returns when all nodes have ended the connection.
func (t *Net) attackOnce(k int, key p2p.NodeKey, b hostile.Behaviour, quit chan struct{}) {
	info, ok := t.infoOf()
	if !ok {
		return
	}
	info.ListenAddr = "127.0.0.1:1"
	v := &hostile.Peer{Behaviour: b, End: quit}
	sw, transport := v.Network(info, key)
	if sw.Start() != nil {
		return
	}
	links := make([]*Link, len(t.nodes))
	var joining sync.WaitGroup
	for again := true; again; again = !b.Fresh && pause(quit, time.Second) {
		for i, m := range t.nodes {
			node := m.network.Load()
			if node == nil || sw.Peers().Has(m.id) && node.Peers().Has(key.ID()) {
				continue
			}
			if links[i] != nil {
				links[i].Close()
			}
			links[i] = NewLink(uint64(k), stranger(k), address(i))
			links[i].Set(strangers, strangers)
			m.accept(links[i], sw, node, &joining)
		}
		joining.Wait()
	}
	for b.Fresh && sw.Peers().Size() > 0 && pause(quit, 100*time.Millisecond) {
	}
	for _, l := range links {
		if l != nil {
			l.Close()
		}
	}
	_ = sw.Stop()
	_ = transport.Close()
}

// accept adds a link to the switches of an adversary and of the node m, in goroutines of joining. It
// closes the link if the node has not accepted the connection within handshakeTime.
func (m *member) accept(l *Link, adversary, node *p2p.Switch, joining *sync.WaitGroup) {
	timeout := time.AfterFunc(handshakeTime, l.Close)
	joining.Go(func() { _ = adversary.AddConn(l.A) })
	joining.Go(func() {
		m.do(func() {
			if node.AddConn(l.B) == nil {
				timeout.Stop()
			}
		})
	})
}

// begin connects one peer to all running nodes and begins messages that it never ends, with sizes bytes on
// each channel. It returns when quit is closed.
func (t *Net) begin(k int, sizes map[int32]int, quit chan struct{}) {
	var wg sync.WaitGroup
	for i, m := range t.nodes {
		node := m.network.Load()
		if node == nil {
			continue
		}
		l := NewLink(uint64(k), stranger(k), address(i))
		l.Set(link.Rule{Delay: strangers.Delay}, link.Rule{Delay: strangers.Delay})
		wg.Go(func() { m.do(func() { _ = node.AddConn(l.B) }) })
		wg.Go(func() {
			s, err := hostile.Knock(l.A, node.NodeInfo().(p2p.DefaultNodeInfo))
			if err == nil && s.Begin(sizes) == nil {
				<-quit
			}
			l.Close()
		})
	}
	wg.Wait()
}
