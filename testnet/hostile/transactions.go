package hostile

import (
	"bytes"
	"sync"
	"time"

	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"

	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/app/tx"
)

// Withholding claims to send every transaction that a node announces, and sends none.
var Withholding = Behaviour{Name: "says that it sends and withholds", Ahead: true, Also: BlockChannels,
	OnMessage: func(v *Peer, m p2p.Envelope) {
		if g, ok := m.Message.(*reactor.Gossip); ok {
			v.Switch.Peers().ForEach(func(p p2p.Peer) { Say(p, reactor.Gossip{Sending: append(g.Have, g.Sending...)}) })
		}
	}}

// IdleAnnouncements announces, ten times a second, transactions that it never sends.
var IdleAnnouncements = Behaviour{Name: "announces now and then", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
	time.Sleep(100 * time.Millisecond)
	return Say(p, reactor.Gossip{Have: Hashes(64)})
})}

// Deaf reads nothing.
var Deaf = Behaviour{Name: "reads nothing", Ahead: true, Also: BlockChannels,
	OnMessage: func(v *Peer, _ p2p.Envelope) { <-v.End }}

// tooLong returns 2 MB, more than a transaction of these nets may have.
var tooLong = sync.OnceValue(func() []byte { return Hashes(1 << 16) })

// many are a million empty transactions.
var many = make([][]byte, 1_000_000)

// offer sends large messages. Send would keep one in memory for 10 s after the node has ended the connection.
func offer(p p2p.Peer, raws ...[]byte) bool {
	p.TrySend(p2p.Envelope{ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: raws}})
	time.Sleep(200 * time.Millisecond)
	return true
}

// Transactions are the attacks on the channels of transactions.
var Transactions = []Behaviour{
	{Name: "announces what it never sends", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return Say(p, reactor.Gossip{Have: Hashes(1024)})
	})},
	{Name: "announces it with new ids", Fresh: true, Attack: func(v *Peer, p p2p.Peer) {
		for range 8 {
			Say(p, reactor.Gossip{Have: Hashes(1024)})
		}
		v.Switch.StopPeerGracefully(p)
	}},
	Withholding,
	{Name: "lacks all that it announced", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return Say(p, reactor.Gossip{Have: Hashes(512)})
	}), OnMessage: func(_ *Peer, m p2p.Envelope) {
		if g, ok := m.Message.(*reactor.Gossip); ok && g.Want != nil {
			m.Src.TrySend(p2p.Envelope{ChannelID: gossipChannel, Message: &reactor.Gossip{Lack: g.Want}})
		}
	}},
	{Name: "wants and lacks", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return Say(p, reactor.Gossip{Want: Hashes(1024), Lack: Hashes(1024)})
	})},
	Deaf,
	{Name: "sends garbage", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool { return give(p, Hashes(100)) })},
	{Name: "sends what is too long", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool { return offer(p, tooLong()) })},
	{Name: "sends messages of many", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return offer(p, many...)
	})},
	{Name: "sends the empty transaction", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool { return give(p, nil) })},
	{Name: "sends the same again", Ahead: true, Also: BlockChannels, Attack: Repeated(func(v *Peer, p p2p.Peer) bool {
		if raw := v.lastReceived(); raw != nil {
			return give(p, raw)
		}
		time.Sleep(time.Millisecond)
		return true
	})},
	{Name: "sends wrong signatures", Ahead: true, Also: BlockChannels, OnMessage: func(v *Peer, m p2p.Envelope) {
		x, ok := m.Message.(*protomem.Txs)
		if !ok {
			return
		}
		for _, raw := range x.Txs { // at once, to be at other nodes before the transaction itself
			raw = bytes.Clone(raw)
			raw[len(raw)-1] ^= 1
			v.Switch.Peers().ForEach(func(p p2p.Peer) { give(p, raw) })
		}
	}},
	{Name: "sends foreign kinds for aggregates", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return Tell(p, aggregateChannel, &tx.Envelope{Kind: 77, Content: Hashes(100)})
	})},
}
