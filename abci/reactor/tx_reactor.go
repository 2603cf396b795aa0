package reactor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// gossipChannel is the id of the channel for announcements and requests. CometBFT does not use this id. The channel's
// priority is above that of the mempool's channel (5), on which the transactions themselves are sent.
const (
	gossipChannel  = byte(0x53)
	gossipPriority = 6
	gossipQueue    = 64
	gossipTick     = 100 * time.Millisecond
)

// mempoolReactor is the interface of CometBFT's mempool reactor.
type mempoolReactor interface {
	p2p.Reactor
	p2p.MsgBytesFilter
	EnableInOutTxs()
	WaitSync() bool
}

// Pool is the part of the application that TxReactor needs.
type Pool interface {
	PoolTx(hash [32]byte) *tx.Tx
	PoolTxs() []*tx.Tx
	State() *app.State
	CheckTx(context.Context, *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error)
}

// TxReactor is CometBFT's mempool reactor with another way to spread transactions. CometBFT sends each transaction to
// all peers that have not sent it first, so a node receives a transaction from most of its peers. Here only one node,
// to which a client submits the transaction, sends it to its peers unasked. Every other node that admits the
// transaction announces the hash, and sends the transaction on request. If a peer does not have the channel of
// announcements, this node and the peer send transactions as CometBFT does. Only the transport changes: the application
// decides what a node admits and proposes.
type TxReactor struct {
	mempoolReactor
	limit.Messages
	flood       bool // whether transactions are sent to all peers, as CometBFT does
	pool        Pool
	metrics     *metrics.Metrics
	log         log.Logger
	stop        func(p2p.Peer, any) // disconnects a peer, for a reason
	requests    *requestScheduler
	mempoolSize func() int // the number of transactions in CometBFT's mempool

	mu         sync.Mutex
	floodPeers map[p2p.ID]bool // the peers to which transactions are sent as CometBFT does
	queues     map[p2p.ID]*peerQueue
	checking   map[hash]int // the number of copies of each transaction in CheckTx
	recentTxs  recentTxs

	receivedBytes map[string]int64 // the number of received bytes by kind
}

// NewTxReactor returns a reactor for a pool. The reactor logs every message at debug level.
// isTrusted reports whether a peer is a known node; nil means that every peer is known.
func NewTxReactor(pool Pool, flood bool, isTrusted func(p2p.ID) bool, b limit.Messages, m *metrics.Metrics,
	logger log.Logger) *TxReactor {
	return &TxReactor{
		pool: pool, flood: flood, Messages: b, metrics: m, log: logger,
		requests: newRequestScheduler(isTrusted),
		queues:   map[p2p.ID]*peerQueue{}, floodPeers: map[p2p.ID]bool{}, checking: map[hash]int{}, recentTxs: newRecentTxs(),
		receivedBytes: map[string]int64{},
	}
}

// Install is a node option that replaces the mempool reactor by this reactor.
func (g *TxReactor) Install(n *cmtnode.Node) {
	const name = "MEMPOOL"
	r, _ := n.Switch().Reactor(name)
	g.mempoolReactor, g.mempoolSize = r.(mempoolReactor), func() int { return n.Mempool().Size() }
	cmtnode.CustomReactors(map[string]p2p.Reactor{name: g})(n)
}

// SetSwitch implements p2p.Reactor.
func (g *TxReactor) SetSwitch(s p2p.Switcher) {
	g.mempoolReactor.SetSwitch(s)
	g.stop = func(peer p2p.Peer, reason any) { s.StopPeerForError(peer, reason) }
}

// GetChannels implements p2p.Reactor.
func (g *TxReactor) GetChannels() []*p2p.ChannelDescriptor {
	channels := g.Apply(g.mempoolReactor.GetChannels())
	if g.flood {
		return channels
	}
	return append(channels, &p2p.ChannelDescriptor{
		ID: gossipChannel, Priority: gossipPriority, SendQueueCapacity: gossipQueue,
		RecvMessageCapacity: 4 * (maxHashes*len(hash{}) + 8), MessageType: &Gossip{},
	})
}

// InitPeer implements p2p.Reactor.
func (g *TxReactor) InitPeer(peer p2p.Peer) p2p.Peer { return g.Track(g.mempoolReactor.InitPeer(peer)) }

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (g *TxReactor) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	g.Finished(from, channel, len(message))
	return g.mempoolReactor.FilterMsgBytes(channel, from, message)
}

// Start implements service.Service.
func (g *TxReactor) Start() error {
	if err := g.mempoolReactor.Start(); err != nil {
		return err
	}
	go every(gossipTick, g.Quit(), func() {
		if !g.WaitSync() {
			g.sendRequests(g.requests.expire())
		}
	})
	return nil
}

// every calls f at an interval until quit is closed.
func every(interval time.Duration, quit <-chan struct{}, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			f()
		}
	}
}

// AddPeer announces all pending transactions to a new peer.
func (g *TxReactor) AddPeer(peer p2p.Peer) {
	if info, ok := peer.NodeInfo().(p2p.DefaultNodeInfo); g.flood || !ok || !info.HasChannel(gossipChannel) {
		g.mu.Lock()
		g.floodPeers[peer.ID()] = true
		g.mu.Unlock()
		g.mempoolReactor.AddPeer(peer)
		return
	}
	b := newPeerQueue(peer, func(h hash) *tx.Tx { return g.pool.PoolTx(h) })
	g.mu.Lock()
	g.queues[peer.ID()] = b
	g.mu.Unlock()
	height := g.height()
	for _, t := range g.pool.PoolTxs() {
		b.announce(queuedTx{hash: t.Hash, height: height})
	}
	go b.run(g.Quit())
}

// RemovePeer implements p2p.Reactor.
func (g *TxReactor) RemovePeer(peer p2p.Peer, reason any) {
	g.mempoolReactor.RemovePeer(peer, reason)
	g.mu.Lock()
	delete(g.queues, peer.ID())
	delete(g.floodPeers, peer.ID())
	g.mu.Unlock()
	g.sendRequests(g.requests.removePeer(peer.ID()))
}

// Receive implements p2p.Reactor.
func (g *TxReactor) Receive(m p2p.Envelope) {
	switch message := m.Message.(type) {
	case *protomem.Txs:
		if n := len(message.Txs); n != 1 { // with several transactions, a peer could cause more work than it does itself
			g.stop(m.Src, fmt.Errorf("a message of %d transactions, want 1", n))
			return
		}
		g.onTx(m.Src, message.Txs[0])
	case *Gossip:
		g.onGossip(m.Src, message)
	default:
		g.mempoolReactor.Receive(m) // CometBFT's reactor rejects the message
	}
}

// onTx passes a peer's transaction to the mempool, even if this node has not requested the
// transaction. While the node catches up, onTx drops the transaction.
func (g *TxReactor) onTx(from p2p.Peer, raw []byte) {
	if g.WaitSync() {
		g.log.Debug("transaction dropped while the node catches up", "peer", from.ID(), "bytes", len(raw))
		return
	}
	h := hash(types.Tx(raw).Key())
	known := g.pool.PoolTx(h) != nil
	g.mu.Lock()
	known = known || g.recentTxs.isAdmitted(h)
	g.checking[h]++
	box := g.queues[from.ID()]
	g.mu.Unlock()
	if box != nil {
		box.markKnown(h)
	}
	g.admit(from, h, raw)
	admitted, height := known || g.pool.PoolTx(h) != nil, g.height()
	g.mu.Lock()
	if g.checking[h]--; g.checking[h] == 0 {
		delete(g.checking, h)
	}
	// A block may already have taken the transaction out of the pool.
	admitted = admitted || g.recentTxs.isAdmitted(h)
	if !admitted {
		g.recentTxs.Add(h, txStatus{height: height})
	}
	g.mu.Unlock()
	g.requests.finish(from.ID(), h, admitted)
	switch {
	case known:
		g.log.Debug("transaction received again", "peer", from.ID(), "hash", h, "bytes", len(raw))
		g.count(metrics.ReceivedKnown, len(raw))
		return
	case admitted:
		g.log.Debug("transaction received", "peer", from.ID(), "hash", h, "bytes", len(raw))
		g.count(metrics.ReceivedNew, len(raw))
		return
	}
	g.log.Debug("transaction received and not admitted", "peer", from.ID(), "hash", h, "bytes", len(raw))
	g.count(metrics.ReceivedRefused, len(raw))
	// A rejection may be due to a race, or to an attacker that the peer could not recognise. But a transaction that cannot
	// be decoded is the peer's fault: no honest node sends such a transaction.
	if _, err := tx.Decode(raw); err != nil && !errors.Is(err, tx.ErrUnknownKind) {
		g.stop(from, fmt.Errorf("a transaction that no node sends: %w", err))
	}
}

// admit passes a transaction to the mempool, or directly to the application. CometBFT's mempool hashes each transaction
// four times, and twice more at its commit. So a large transaction, which always belongs to a round, bypasses the
// mempool if the mempool holds another transaction and g.floodPeers is empty. Then nothing needs the transaction in the
// mempool. Only gossip to g.floodPeers reads transactions there, blocks are made from the application's pool, and
// consensus only waits until the mempool is not empty.
func (g *TxReactor) admit(from p2p.Peer, h hash, raw []byte) {
	g.mu.Lock()
	past := len(g.floodPeers) == 0 && len(raw) > int(types.BlockPartSizeBytes)
	g.mu.Unlock()
	switch {
	case past && g.pool.PoolTx(h) != nil: // the mempool's cache would reject the transaction
	case past && g.mempoolSize() > 0:
		_, _ = g.pool.CheckTx(context.Background(), &abcitypes.RequestCheckTx{Tx: raw}) // the pool records the verdict
	default:
		g.mempoolReactor.Receive(p2p.Envelope{Src: from, ChannelID: mempool.MempoolChannel,
			Message: &protomem.Txs{Txs: [][]byte{raw}}})
	}
}

// count adds received bytes of a kind to the metrics and to receivedBytes.
func (g *TxReactor) count(what string, bytes int) {
	g.metrics.Add("gossip_received_bytes_total", float64(bytes), what)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.receivedBytes[what] += int64(bytes)
}

// ReceivedBytes returns the received bytes by kind.
func (g *TxReactor) ReceivedBytes() map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.receivedBytes)
}

// queueOf returns the send queue of a peer, nil if the peer has left.
func (g *TxReactor) queueOf(id p2p.ID) *peerQueue {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queues[id]
}

// height returns the last height that this node has committed, 0 before the first.
func (g *TxReactor) height() int64 {
	if s := g.pool.State(); s != nil {
		return int64(s.Height)
	}
	return 0
}
