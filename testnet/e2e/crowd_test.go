//go:build e2e

package e2e

import (
	"context"
	"io"
	stdnet "net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/hostile"
)

// knock connects a stranger at an address of this machine, 127.0.0.from, to a node.
func knock(from byte, at string, theirs p2p.DefaultNodeInfo) (*hostile.Knocker, error) {
	d := stdnet.Dialer{Timeout: 3 * time.Second, LocalAddr: &stdnet.TCPAddr{IP: stdnet.IPv4(127, 0, 0, from)}}
	raw, err := d.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	return hostile.Knock(raw, theirs)
}

// infos are what the nodes of a net say of themselves.
func (n *net) infos() (all []p2p.DefaultNodeInfo) {
	n.Helper()
	for _, c := range n.clients {
		s, err := c.RPC().Status(context.Background())
		require.NoError(n, err)
		all = append(all, s.NodeInfo)
	}
	return all
}

// crowd connects n silent strangers to each node, and again whenever a connection
// ends, until the function that it returns is called.
func (n *net) crowd(k int) (end func()) {
	n.Helper()
	var doors []string
	for _, node := range n.Net.Nodes {
		doors = append(doors, node.P2P)
	}
	return n.crowdAt(k, doors)
}

// crowdAt is crowd for other addresses than the nodes', one for each node.
func (n *net) crowdAt(k int, doors []string) (end func()) {
	n.Helper()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for i, info := range n.infos() {
		at := doors[i]
		for k := range k {
			wg.Go(func() {
				for {
					if s, err := knock(byte(2+k), at, info); err == nil {
						over := make(chan struct{})
						go func() { _, _ = io.Copy(io.Discard, s.Conn); close(over) }()
						select {
						case <-over:
						case <-quit:
						}
						s.Close()
						<-over
					}
					select {
					case <-quit:
						return
					case <-time.After(250 * time.Millisecond):
					}
				}
			})
		}
	}
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// TestStrangersAtEverySlot: more strangers than a node has slots for peers are at each door. All
// nodes are restarted, as they are at an upgrade's height. They meet again, and rounds go on.
func TestStrangersAtEverySlot(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
		for _, node := range made.Nodes {
			file := filepath.Join(node.Home, "config", "config.toml")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			slots := regexp.MustCompile(`(?m)^max_num_inbound_peers = .*$`) // what init writes
			require.NoError(t, os.WriteFile(file, slots.ReplaceAll(text, []byte("max_num_inbound_peers = 40")), 0o600))
		}
	})
	n.reach(3)
	calm := n.spend(5 * time.Second)
	defer n.crowd(44)()
	time.Sleep(3 * time.Second)
	crowd := n.spend(5 * time.Second)
	t.Logf("calm %+v, 44 strangers at each door %+v", calm, crowd)
	require.Greater(t, crowd.rounds, 0)
	at := n.open(0)
	for i := range n.Net.Nodes {
		require.NoError(t, n.Kill(i))
	}
	began := time.Now()
	for i := range n.Net.Nodes {
		require.NoError(t, n.Start(i))
	}
	n.reach(at + 5)
	t.Logf("five rounds %v after all four were started again", time.Since(began))
	for _, c := range n.clients {
		require.Eventually(t, func() bool {
			info, err := c.RPC().NetInfo(context.Background())
			return err == nil && info.NPeers == 3
		}, time.Minute, 50*time.Millisecond, "all members meet, and members alone are let in")
	}
	n.sameHashes()
}

// TestFlood: 200 strangers knock four times a second at four nodes, each with a new id every time,
// in turns with calm, and with the same strangers at doors that nobody is behind: these take as much
// of the machine as a flood from elsewhere does not. Rounds go on, and members stay connected. The
// log has the rounds and the CPU of the nodes.
func TestFlood(t *testing.T) {
	const of = 5 * time.Second
	turns := stage.Pick(1, 1, 4)
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3)
	nowhere := make([]string, 4)
	for i := range nowhere {
		l, err := stdnet.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		nowhere[i] = l.Addr().String()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
	}
	crowds := []func() (end func()){
		func() func() { return func() {} },
		func() func() { return n.crowdAt(50, nowhere) },
		func() func() { return n.crowd(50) },
	}
	var all [3]load
	var strangers [3]time.Duration
	for range turns {
		for i, crowd := range crowds {
			end := crowd()
			time.Sleep(3 * time.Second) // until the first handshakes are over, of which each address has one
			before := ownCPU(t)
			l := n.spend(of)
			strangers[i] += ownCPU(t) - before
			end()
			all[i].add(l)
			n.reach(n.open(0) + 2)
		}
	}
	for i := range n.clients {
		require.Len(t, n.peers(i), 3, "members stay, and nobody else is there")
	}
	watched := time.Duration(turns) * of
	for i, who := range []string{"calm", "strangers elsewhere", "flood"} {
		rounds := time.Duration(max(1, all[i].rounds))
		t.Logf("%-19s in %v: %d rounds, a round %v and %v of CPU of the nodes; the test %v", who, watched, all[i].rounds,
			watched/rounds, all[i].cpu/rounds, strangers[i])
	}
	t.Logf("a round in the flood beside strangers elsewhere: times %.2f, its CPU times %.2f",
		float64(all[1].rounds)/float64(all[2].rounds),
		all[2].cpu.Seconds()/float64(all[2].rounds)/(all[1].cpu.Seconds()/float64(all[1].rounds)))
	n.sameHashes()
}

// add adds the rounds and the CPU of another time.
func (l *load) add(other load) { l.rounds, l.cpu = l.rounds+other.rounds, l.cpu+other.cpu }
