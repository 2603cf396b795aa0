package testnet

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/internal/stage"
)

// nameServer is a DNS server on loopback, and the resolver of this process. It knows no name until
// a test tells it one.
type nameServer struct {
	mu    sync.Mutex
	hosts map[string][4]byte
}

// serveNames replaces the process's resolver for a test.
func serveNames(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s, before := &nameServer{hosts: map[string][4]byte{}}, net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = before; _ = conn.Close() })
	go func() {
		for query := make([]byte, 1<<12); ; {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if answer := s.answer(query[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return s
}

// answer returns the response to a query: an address, no address of the asked type, or no such name.
func (s *nameServer) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := m.Questions[0]
	m.Response, m.Additionals, m.RCode = true, nil, dnsmessage.RCodeNameError
	if ip, ok := s.hosts[strings.TrimSuffix(q.Name.String(), ".")]; ok {
		m.RCode = dnsmessage.RCodeSuccess
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
				Body: &dnsmessage.AResource{A: ip}}}
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// set gives names an address 127.0.0.x.
func (s *nameServer) set(last byte, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.hosts[name] = [4]byte{127, 0, 0, last}
	}
}

// dnsName returns the name of node i's host.
func dnsName(i int) string { return fmt.Sprintf("node%d.spdl.test", i) }

// named replaces the numbers in a list of peers by names.
func (n *Net) named(list string) string {
	for i := range n.Nodes {
		_, port, _ := net.SplitHostPort(n.Nodes[i].P2P)
		list = strings.ReplaceAll(list, "127.0.0.1:"+port, dnsName(i)+":"+port)
	}
	return list
}

// heightOf returns the height of a node, 0 before its first block.
func heightOf(r *node.Running) uint64 {
	if s := r.Application.State(); s != nil {
		return s.Height
	}
	return 0
}

// climb waits until each node has a peer, at most for a time, and then until all have reached a height.
func climb(t *testing.T, nodes []*node.Running, height uint64, connected time.Duration) {
	t.Helper()
	began := time.Now()
	all := func(holds func(*node.Running) bool) func() bool {
		return func() bool { return !slices.ContainsFunc(nodes, func(r *node.Running) bool { return !holds(r) }) }
	}
	require.Eventually(t, all(func(r *node.Running) bool { return r.Node.Switch().Peers().Size() > 0 }), connected,
		20*time.Millisecond, "a node is alone")
	t.Logf("each node has a peer after %v", time.Since(began).Round(10*time.Millisecond))
	require.Eventually(t, all(func(r *node.Running) bool { return heightOf(r) >= height }), 3*time.Minute,
		20*time.Millisecond, "height %d not reached", height)
	t.Logf("height %d after %v", height, time.Since(began).Round(10*time.Millisecond))
}

// TestNamesThatDoNotResolveAtTheStart: all nodes start before the name server knows their names, as
// after a power cut. When it does, each is connected within 20 s, and the chain begins, however they
// know each other: by persistent peers, by the registered addresses of the members, or, where they
// listen nowhere, by relays.
func TestNamesThatDoNotResolveAtTheStart(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs nets for seconds")
	}
	for name, relays := range map[string]int{"persistent peers": 0, "registered addresses": 0, "relays": 2} {
		t.Run(name, func(t *testing.T) {
			names := serveNames(t)
			n, err := Init(Manifest{Home: t.TempDir(), Rounds: 1000, Seed: 1, Relays: relays})
			require.NoError(t, err)
			if name == "registered addresses" {
				for i := range n.Genesis.Participants {
					p := &n.Genesis.Participants[i]
					p.Address = n.named(fmt.Sprintf("%s@%s", n.Nodes[i].home.NodeID, n.Nodes[i].P2P))
				}
				require.NoError(t, n.finish())
			}
			for i := range n.Nodes {
				peers := &n.Nodes[i].home.Config.P2P.PersistentPeers
				*peers, n.Nodes[i].app.P2P.Relays = n.named(*peers), n.named(n.Nodes[i].app.P2P.Relays)
				if name == "registered addresses" {
					*peers = ""
				}
			}
			p, err := StartInProcess(n, log.NewNopLogger())
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Stop()) }()
			time.Sleep(4 * time.Second) // longer than the first dials wait
			for i, r := range p.Nodes {
				require.Zero(t, r.Node.Switch().Peers().Size(), "node %d", i)
				names.set(1, dnsName(i))
			}
			climb(t, p.Nodes, 10, 20*time.Second)
		})
	}
}

// TestNodeThatMoves: a node starts again at another address, and only its name says so. The others
// dial it at the new address within 30 s; it knows the address of none of them.
func TestNodeThatMoves(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net for seconds")
	}
	if l, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("the machine has one loopback address")
	} else {
		require.NoError(t, l.Close())
	}
	names := serveNames(t)
	n, err := Init(Manifest{Home: t.TempDir(), Rounds: 1000, Seed: 1})
	require.NoError(t, err)
	for i := range n.Nodes {
		names.set(1, dnsName(i))
		c := n.Nodes[i].home.Config
		c.P2P.PersistentPeers = n.named(c.P2P.PersistentPeers)
	}
	const moves = 3
	c := n.Nodes[moves].home.Config
	c.P2P.PersistentPeers = string(n.Nodes[0].home.NodeID) + "@nobody.spdl.test:1"
	p, err := StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Stop()) }()
	climb(t, p.Nodes, 3, 3*time.Minute)
	require.NoError(t, p.Nodes[moves].Stop())
	names.set(2, dnsName(moves))
	_, port, _ := net.SplitHostPort(n.Nodes[moves].P2P)
	c.P2P.ListenAddress = "tcp://127.0.0.2:" + port
	p.Nodes[moves], err = node.Start(c, n.Nodes[moves].app, log.NewNopLogger(), n.Manifest.Hooks(moves))
	require.NoError(t, err)
	climb(t, p.Nodes, heightOf(p.Nodes[0])+10, 30*time.Second)
}
