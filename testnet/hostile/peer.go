// Package hostile has peers without a chain that attack nodes. Nets of processes and nets in
// virtual time connect these peers to their nodes.
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

// Behaviour describes how a peer attacks.
type Behaviour struct {
	Name string
	// Fresh means that the peer comes with a new id whenever a node has ended the connection.
	Fresh bool
	// Ahead means that the peer says to be far above the chain's height: nodes announce and send
	// transactions only to peers that have reached their height. Also must have the channels of blocks.
	Ahead bool
	// Attack runs for each node that the peer is connected to.
	Attack func(v *Peer, p p2p.Peer)
	// OnMessage handles the messages that nodes send. If it is nil, the peer ignores them.
	OnMessage func(v *Peer, m p2p.Envelope)
	// Also maps further channels of the peer to their message types. Every peer has the channels of transactions.
	Also map[byte]proto.Message
}

// gossipChannel is the channel of reactor.Gossip, and aggregateChannel that of aggregates.
const gossipChannel, aggregateChannel = byte(0x53), byte(0x51)

// maxPacket is the max payload of a packet that a peer accepts. It is more than nodes send. With
// CometBFT's default the peer would end the connection at a node's first large packet.
const maxPacket = 1 << 17

// Peer is the only reactor of a hostile switch. It attacks every connected node until End is closed.
type Peer struct {
	p2p.BaseReactor
	Behaviour
	End chan struct{} // closed to end the attack

	channels []*p2p.ChannelDescriptor
	heights  atomic.Pointer[protocons.NewRoundStep] // the last height and round that a node has announced
	mu       sync.Mutex
	received [][]byte // the transactions that nodes have sent
}

// GetChannels implements p2p.Reactor.
func (v *Peer) GetChannels() []*p2p.ChannelDescriptor { return v.channels }

// AddPeer implements p2p.Reactor.
func (v *Peer) AddPeer(p p2p.Peer) {
	if v.Ahead {
		sayAhead(p)
	}
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

// lastReceived returns the last transaction that a node has sent, or nil.
func (v *Peer) lastReceived() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.received) == 0 {
		return nil
	}
	return v.received[len(v.received)-1]
}

// GoesOn reports whether the peer still attacks a node.
func (v *Peer) GoesOn(p p2p.Peer) bool {
	select {
	case <-v.End:
		return false
	default:
		return p.IsRunning()
	}
}

// Network returns the peer's switch, which has not started, and its transport. info is the node
// info of one of the attacked nodes.
func (v *Peer) Network(info p2p.DefaultNodeInfo, key p2p.NodeKey) (*p2p.Switch, *p2p.MultiplexTransport) {
	info.DefaultNodeID = key.ID()
	for _, id := range info.Channels {
		c := &p2p.ChannelDescriptor{ID: id, Priority: 1, SendQueueCapacity: 2, RecvMessageCapacity: 8 << 20}
		switch id {
		case gossipChannel:
			c.MessageType = &reactor.Gossip{}
		case mempool.MempoolChannel:
			c.MessageType = &protomem.Message{}
		case aggregateChannel:
			c.MessageType = &tx.Envelope{}
		default:
			if c.MessageType = v.Also[id]; c.MessageType == nil {
				continue // the peer does not have this channel
			}
		}
		v.channels = append(v.channels, c)
	}
	info.Channels = nil
	for _, c := range v.channels {
		info.Channels = append(info.Channels, c.ID)
	}
	v.BaseReactor = *p2p.NewBaseReactor("adversary", v)
	fast := conn.DefaultMConnConfig() // the peer does not limit its rates
	fast.SendRate, fast.RecvRate, fast.FlushThrottle = 1<<30, 1<<30, time.Millisecond
	fast.MaxPacketMsgPayloadSize = maxPacket
	c := config.DefaultP2PConfig()
	c.MaxPacketMsgPayloadSize = maxPacket
	c.AllowDuplicateIP = true // otherwise the switch connects to only one node of a host
	transport := p2p.NewMultiplexTransport(info, key, fast)
	sw := p2p.NewSwitch(c, transport)
	sw.SetNodeInfo(info)
	sw.SetNodeKey(&key)
	sw.AddReactor("adversary", v)
	return sw, transport
}

// Hashes returns n random hashes.
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

// Repeated returns an attack that calls once again and again until once returns false or the attack ends.
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
