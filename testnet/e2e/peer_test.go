//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cosmos/gogoproto/proto"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

const gossipChannel = byte(0x53)

// adversary is a peer without a chain: CometBFT's switch with one reactor, which attacks every
// node that it is connected to until it is told to end.
type adversary struct {
	p2p.BaseReactor
	attack    func(v *adversary, p p2p.Peer)
	onMessage func(v *adversary, m p2p.Envelope) // nil hears nothing
	channels  []*p2p.ChannelDescriptor
	quit      chan struct{}
	mu        sync.Mutex
	received  [][]byte // transactions that it was sent
}

func (v *adversary) GetChannels() []*p2p.ChannelDescriptor { return v.channels }

func (v *adversary) AddPeer(p p2p.Peer) { go v.attack(v, p) }

func (v *adversary) Receive(m p2p.Envelope) {
	if x, ok := m.Message.(*protomem.Txs); ok {
		v.mu.Lock()
		v.received = append(v.received, x.Txs...)
		v.mu.Unlock()
	}
	if v.onMessage != nil {
		v.onMessage(v, m)
	}
}

// lastReceived returns the last transaction that the adversary was sent, nil for none.
func (v *adversary) lastReceived() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.received) == 0 {
		return nil
	}
	return v.received[len(v.received)-1]
}

// goesOn reports whether the adversary is to go on with a peer.
func (v *adversary) goesOn(p p2p.Peer) bool {
	select {
	case <-v.quit:
		return false
	default:
		return p.IsRunning()
	}
}

// attackAll connects an adversary to all nodes, and again where a node ends the connection, until
// the function that it returns is called. Fresh says whether it then comes with another id, also
// which channels it speaks beside those of transactions.
func (n *net) attackAll(fresh bool, attack func(*adversary, p2p.Peer), onMessage func(*adversary, p2p.Envelope),
	also map[byte]proto.Message) (end func()) {
	quit, key := make(chan struct{}), p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if fresh {
				key = p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
			}
			n.dialAll(key, quit, attack, onMessage, also)
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// network returns the adversary's switch, which has not started, and its transport. Info is what
// another node says of itself.
func (v *adversary) network(info p2p.DefaultNodeInfo, key p2p.NodeKey, also map[byte]proto.Message) (*p2p.Switch,
	*p2p.MultiplexTransport) {
	info.DefaultNodeID = key.ID()
	for _, id := range info.Channels {
		v.channels = append(v.channels, &p2p.ChannelDescriptor{ID: id, Priority: 1, SendQueueCapacity: 100,
			RecvMessageCapacity: 8 << 20, MessageType: &protomem.Message{}})
		switch id {
		case gossipChannel:
			v.channels[len(v.channels)-1].MessageType = &reactor.Gossip{}
		case mempool.MempoolChannel, 0x51:
		default: // what it hears of consensus it need not understand
			if v.channels[len(v.channels)-1].MessageType = also[id]; also[id] == nil {
				v.channels = v.channels[:len(v.channels)-1]
			}
		}
	}
	info.Channels = nil
	for _, c := range v.channels {
		info.Channels = append(info.Channels, c.ID)
	}
	v.BaseReactor = *p2p.NewBaseReactor("adversary", v)
	fast := conn.DefaultMConnConfig() // it does not throttle itself
	fast.SendRate, fast.RecvRate, fast.FlushThrottle = 1<<30, 1<<30, time.Millisecond
	conf := config.DefaultP2PConfig()
	conf.AllowDuplicateIP = true // else its switch dials one node of a host
	transport := p2p.NewMultiplexTransport(info, key, fast)
	sw := p2p.NewSwitch(conf, transport)
	sw.SetNodeInfo(info)
	sw.SetNodeKey(&key)
	sw.AddReactor("adversary", v)
	return sw, transport
}

// dialAll returns when all nodes have ended the connection.
func (n *net) dialAll(key p2p.NodeKey, quit chan struct{}, attack func(*adversary, p2p.Peer),
	onMessage func(*adversary, p2p.Envelope), also map[byte]proto.Message) {
	status, err := n.clients[0].RPC().Status(context.Background())
	if err != nil {
		return
	}
	info := status.NodeInfo
	info.ListenAddr = "127.0.0.1:1"
	v := &adversary{attack: attack, onMessage: onMessage, quit: quit}
	sw, _ := v.network(info, key, also)
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

// hashes returns n hashes of nothing.
func hashes(n int) []byte {
	b := make([]byte, 32*n)
	_, _ = rand.Read(b)
	return b
}

func say(p p2p.Peer, m reactor.Gossip) bool {
	return p.Send(p2p.Envelope{ChannelID: gossipChannel, Message: &m})
}

func give(p p2p.Peer, raws ...[]byte) bool {
	return p.Send(p2p.Envelope{ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: raws}})
}

// repeated is an attack that is made again and again.
func repeated(once func(*adversary, p2p.Peer) bool) func(*adversary, p2p.Peer) {
	return func(v *adversary, p p2p.Peer) {
		for v.goesOn(p) && once(v, p) {
		}
	}
}

// changed is a gradient with another signature.
func changed(raw []byte) []byte {
	raw = bytes.Clone(raw)
	raw[len(raw)-1] ^= 1
	return raw
}

// harms are what a peer can do.
var harms = []struct {
	name      string
	fresh     bool
	attack    func(*adversary, p2p.Peer)
	onMessage func(*adversary, p2p.Envelope)
}{
	{"announces what it never sends", false, repeated(func(_ *adversary, p p2p.Peer) bool {
		return say(p,
			reactor.Gossip{Have: hashes(1024)})
	}), nil},
	{"announces it with new ids", true, func(v *adversary, p p2p.Peer) {
		for range 8 {
			say(p, reactor.Gossip{Have: hashes(1024)})
		}
		v.Switch.StopPeerGracefully(p)
	}, nil},
	{"says that it sends and withholds", false, func(*adversary, p2p.Peer) {}, func(v *adversary, m p2p.Envelope) {
		if g, ok := m.Message.(*reactor.Gossip); ok {
			v.Switch.Peers().ForEach(func(p p2p.Peer) { say(p, reactor.Gossip{Sending: append(g.Have, g.Sending...)}) })
		}
	}},
	{"lacks all that it announced", false, repeated(func(_ *adversary, p p2p.Peer) bool {
		return say(p,
			reactor.Gossip{Have: hashes(512)})
	}), func(_ *adversary, m p2p.Envelope) {
		if g, ok := m.Message.(*reactor.Gossip); ok && g.Want != nil {
			m.Src.TrySend(p2p.Envelope{ChannelID: gossipChannel, Message: &reactor.Gossip{Lack: g.Want}})
		}
	}},
	{"wants and lacks", false, repeated(func(_ *adversary, p p2p.Peer) bool {
		return say(p, reactor.Gossip{Want: hashes(1024), Lack: hashes(1024)})
	}), nil},
	{"reads nothing", false, func(*adversary, p2p.Peer) {}, func(v *adversary, _ p2p.Envelope) { <-v.quit }},
	{"sends garbage", false, repeated(func(_ *adversary, p p2p.Peer) bool { return give(p, hashes(100)) }), nil},
	{"sends what is too long", false, repeated(func(_ *adversary, p p2p.Peer) bool { return give(p, hashes(220_000)) }),
		nil},
	{"sends messages of many", false, repeated(func(_ *adversary, p p2p.Peer) bool {
		return give(p,
			make([][]byte, 1_000_000)...)
	}), nil},
	{"sends the empty transaction", false, repeated(func(_ *adversary, p p2p.Peer) bool { return give(p, nil) }), nil},
	{"sends the same again", false, repeated(func(v *adversary, p p2p.Peer) bool {
		if raw := v.lastReceived(); raw != nil {
			return give(p, raw)
		}
		time.Sleep(time.Millisecond)
		return true
	}), nil},
	{"sends wrong signatures", false, repeated(func(v *adversary, p p2p.Peer) bool {
		if raw := v.lastReceived(); raw != nil {
			return give(p, changed(raw))
		}
		time.Sleep(time.Millisecond)
		return true
	}), nil},
	{"sends foreign kinds for aggregates", false, repeated(func(_ *adversary, p p2p.Peer) bool {
		return p.Send(p2p.Envelope{ChannelID: 0x51, Message: &tx.Envelope{Kind: 77, Content: hashes(100)}})
	}), nil},
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

// TestHostilePeers: a peer of four nodes does all that a peer can do on the channels of
// transactions. Rounds go on, with the gradients of all; no node grows or ends, and no node leaves
// another.
func TestHostilePeers(t *testing.T) {
	of := stage.Pick(3*time.Second, 3*time.Second, 5*time.Second)
	n := start(t, testnet.Manifest{Validators: 4, Strangers: true})
	n.reach(3)
	began := time.Now()
	calm := n.spend(of)
	t.Logf("%-36s %+v", "calm", calm)
	for _, h := range harms {
		end := n.attackAll(h.fresh, h.attack, h.onMessage, nil)
		l := n.spend(of)
		end()
		t.Logf("%-36s %+v", h.name, l)
		require.Greater(t, l.rounds, 0, h.name)
		require.LessOrEqual(t, l.missing, l.rounds/4, h.name)
		require.Less(t, l.rss, calm.rss+(150<<20), h.name)
	}
	ours := []p2p.ID{}
	for _, c := range n.clients {
		s, err := c.RPC().Status(context.Background())
		require.NoError(t, err)
		ours = append(ours, s.NodeInfo.DefaultNodeID)
	}
	lasted := time.Since(began)
	for i, c := range n.clients {
		info, err := c.RPC().NetInfo(context.Background())
		require.NoError(t, err)
		honest := 0
		for _, p := range info.Peers {
			if slices.Contains(ours, p.NodeInfo.DefaultNodeID) {
				honest++
				require.Greater(t, p.ConnectionStatus.Duration, lasted, "node %d", i)
			}
		}
		require.Equal(t, 3, honest)
	}
	n.sameHashes()
}
