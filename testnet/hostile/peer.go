// Package hostile holds what peers without a chain can do to nodes. Nets of processes and nets in
// virtual time connect them.
package hostile

import (
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	protocons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cosmos/gogoproto/proto"

	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/app/tx"
)

// Behaviour is what a peer does.
type Behaviour struct {
	Name string
	// Fresh means that the peer comes with another id whenever a node has ended the connection.
	Fresh bool
	// Attack runs for each node that the peer is connected to.
	Attack func(v *Peer, p p2p.Peer)
	// OnMessage gets what nodes send. A nil OnMessage drops it.
	OnMessage func(v *Peer, m p2p.Envelope)
	// Also are the channels that the peer speaks beside those of transactions, with their messages.
	Also map[byte]proto.Message
}

// gossipChannel is the channel of reactor.Gossip, and aggregateChannel that of aggregates.
const gossipChannel, aggregateChannel = byte(0x53), byte(0x51)

// maxPacket is the max payload of a packet that a peer takes: more than nodes send. With CometBFT's own
// a peer ends the connection at a node's first large packet.
const maxPacket = 1 << 17

// Peer is CometBFT's switch with one reactor, which attacks every node that it is connected to until
// it is told to end.
type Peer struct {
	p2p.BaseReactor
	Behaviour
	End chan struct{} // closed when it is to end

	channels []*p2p.ChannelDescriptor
	heights  atomic.Pointer[protocons.NewRoundStep] // of the nodes, as last heard
	mu       sync.Mutex
	received [][]byte // transactions that it was sent
}

// GetChannels implements p2p.Reactor.
func (v *Peer) GetChannels() []*p2p.ChannelDescriptor { return v.channels }

// AddPeer implements p2p.Reactor.
func (v *Peer) AddPeer(p p2p.Peer) {
	if v.Attack != nil {
		go v.Attack(v, p)
	}
}

// Receive implements p2p.Reactor.
func (v *Peer) Receive(m p2p.Envelope) {
	if x, ok := m.Message.(*protomem.Txs); ok {
		v.mu.Lock()
		v.received = append(v.received, x.Txs...)
		v.mu.Unlock()
	}
	if v.OnMessage != nil {
		v.OnMessage(v, m)
	}
}

// lastReceived returns the last transaction that the peer was sent, nil for none.
func (v *Peer) lastReceived() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.received) == 0 {
		return nil
	}
	return v.received[len(v.received)-1]
}

// GoesOn reports whether the peer is to go on with a node.
func (v *Peer) GoesOn(p p2p.Peer) bool {
	select {
	case <-v.End:
		return false
	default:
		return p.IsRunning()
	}
}

// Network returns the peer's switch, which has not started, and its transport. Info is what another
// node says of itself.
func (v *Peer) Network(info p2p.DefaultNodeInfo, key p2p.NodeKey) (*p2p.Switch, *p2p.MultiplexTransport) {
	info.DefaultNodeID = key.ID()
	for _, id := range info.Channels {
		c := &p2p.ChannelDescriptor{ID: id, Priority: 1, SendQueueCapacity: 100, RecvMessageCapacity: 8 << 20}
		switch id {
		case gossipChannel:
			c.MessageType = &reactor.Gossip{}
		case mempool.MempoolChannel:
			c.MessageType = &protomem.Message{}
		case aggregateChannel:
			c.MessageType = &tx.Envelope{}
		default:
			if c.MessageType = v.Also[id]; c.MessageType == nil {
				continue // what it hears there it need not understand
			}
		}
		v.channels = append(v.channels, c)
	}
	info.Channels = nil
	for _, c := range v.channels {
		info.Channels = append(info.Channels, c.ID)
	}
	v.BaseReactor = *p2p.NewBaseReactor("adversary", v)
	fast := conn.DefaultMConnConfig() // it does not throttle itself
	fast.SendRate, fast.RecvRate, fast.FlushThrottle = 1<<30, 1<<30, time.Millisecond
	fast.MaxPacketMsgPayloadSize = maxPacket
	c := config.DefaultP2PConfig()
	c.MaxPacketMsgPayloadSize = maxPacket
	c.AllowDuplicateIP = true // else its switch dials one node of a host
	transport := p2p.NewMultiplexTransport(info, key, fast)
	sw := p2p.NewSwitch(c, transport)
	sw.SetNodeInfo(info)
	sw.SetNodeKey(&key)
	sw.AddReactor("adversary", v)
	return sw, transport
}

// Hashes returns n hashes of nothing.
func Hashes(n int) []byte {
	b := make([]byte, 32*n)
	_, _ = rand.Read(b)
	return b
}

// Say sends a message about transactions.
func Say(p p2p.Peer, m reactor.Gossip) bool { return Tell(p, gossipChannel, &m) }

// Tell sends a message on a channel.
func Tell(p p2p.Peer, channel byte, m proto.Message) bool {
	return p.Send(p2p.Envelope{ChannelID: channel, Message: m})
}

func give(p p2p.Peer, raws ...[]byte) bool {
	return Tell(p, mempool.MempoolChannel, &protomem.Txs{Txs: raws})
}

// Repeated is an attack that is made again and again.
func Repeated(once func(*Peer, p2p.Peer) bool) func(*Peer, p2p.Peer) {
	return func(v *Peer, p p2p.Peer) {
		for v.GoesOn(p) && once(v, p) {
		}
	}
}

// All returns all behaviours.
func All() []Behaviour {
	return slices.Concat(Transactions, Blocks, []Behaviour{Heights, LongChain, IdleAnnouncements})
}
