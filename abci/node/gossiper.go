package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/mempool"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// The channel of announcements has an id that CometBFT leaves free, and a priority above the 5 of
// the mempool's channel, over which the transactions follow.
const (
	gossipChannel  = byte(0x53)
	gossipPriority = 6
	gossipQueue    = 64
	gossipTick     = 100 * time.Millisecond
)

// flooder is CometBFT's mempool reactor.
type flooder interface {
	p2p.Reactor
	p2p.MsgBytesFilter
	EnableInOutTxs()
	WaitSync() bool
}

// pending is the application's pool, as the gossiper sees it.
type pending interface {
	Held(hash [32]byte) *tx.Tx
	AllHeld() []*tx.Tx
	State() *app.State
	CheckTx(context.Context, *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error)
}

// gossiper is CometBFT's mempool reactor with another way to spread transactions. CometBFT sends
// each transaction to all peers that have not sent it first, so a node receives it from most of its
// peers. Here the node that a transaction was submitted to sends it to its peers; a node that
// received and admitted it announces its hash, and sends it on request. Peers without the channel
// of announcements, which flood, are flooded. All of this is transport only: the application
// decides what a node admits and proposes.
type gossiper struct {
	flooder
	bounds
	flood   bool // flood all peers, as CometBFT does
	pool    pending
	metrics *metrics.Metrics
	stop    func(p2p.Peer, any)
	quit    chan struct{}
	wanted  *wanted
	pooled  func() int // the number of transactions in CometBFT's mempool

	mu     sync.Mutex
	floods map[p2p.ID]bool // peers that are flooded
	boxes  map[p2p.ID]*outbox
	taking map[hash]int // the number of copies that are being judged
	said   *verdicts

	received map[string]int64 // bytes by kind
}

func newGossiper(flood bool, m *metrics.Metrics) *gossiper {
	return &gossiper{
		flood: flood, metrics: m, quit: make(chan struct{}), wanted: newWanted(),
		boxes: map[p2p.ID]*outbox{}, floods: map[p2p.ID]bool{}, taking: map[hash]int{}, said: newVerdicts(), received: map[string]int64{},
	}
}

// install is a node's option that puts the gossiper in the place of the mempool's reactor.
func (g *gossiper) install(n *cmtnode.Node) {
	const name = "MEMPOOL"
	r, _ := n.Switch().Reactor(name)
	g.flooder, g.pooled = r.(flooder), func() int { return n.Mempool().Size() }
	cmtnode.CustomReactors(map[string]p2p.Reactor{name: g})(n)
}

// SetSwitch implements p2p.Reactor.
func (g *gossiper) SetSwitch(s p2p.Switcher) {
	g.flooder.SetSwitch(s)
	g.stop = func(peer p2p.Peer, reason any) { s.StopPeerForError(peer, reason) }
}

// GetChannels implements p2p.Reactor.
func (g *gossiper) GetChannels() []*p2p.ChannelDescriptor {
	channels := g.within(g.flooder.GetChannels())
	if g.flood {
		return channels
	}
	return append(channels, &p2p.ChannelDescriptor{
		ID: gossipChannel, Priority: gossipPriority, SendQueueCapacity: gossipQueue,
		RecvMessageCapacity: 4 * (maxHashes*len(hash{}) + 8), MessageType: &Gossip{},
	})
}

// InitPeer implements p2p.Reactor.
func (g *gossiper) InitPeer(peer p2p.Peer) p2p.Peer { return g.begin(g.flooder.InitPeer(peer)) }

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (g *gossiper) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	g.ended(from, channel, len(message))
	return g.flooder.FilterMsgBytes(channel, from, message)
}

// Start implements service.Service.
func (g *gossiper) Start() error {
	if err := g.flooder.Start(); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(gossipTick)
		defer tick.Stop()
		for {
			select {
			case <-g.quit:
				return
			case <-tick.C:
				if !g.WaitSync() {
					g.ask(g.wanted.due())
				}
			}
		}
	}()
	return nil
}

// Stop implements service.Service.
func (g *gossiper) Stop() error {
	err := g.flooder.Stop()
	if err == nil {
		close(g.quit)
	}
	return err
}

// AddPeer announces all pending transactions to a new peer.
func (g *gossiper) AddPeer(peer p2p.Peer) {
	if info, ok := peer.NodeInfo().(p2p.DefaultNodeInfo); g.flood || !ok || !info.HasChannel(gossipChannel) {
		g.mu.Lock()
		g.floods[peer.ID()] = true
		g.mu.Unlock()
		g.flooder.AddPeer(peer)
		return
	}
	b := newOutbox(peer, func(h hash) *tx.Tx { return g.pool.Held(h) })
	g.mu.Lock()
	g.boxes[peer.ID()] = b
	g.mu.Unlock()
	height := g.height()
	for _, t := range g.pool.AllHeld() {
		b.announce(parcel{hash: t.Hash, height: height})
	}
	go b.run(g.quit)
}

// RemovePeer implements p2p.Reactor.
func (g *gossiper) RemovePeer(peer p2p.Peer, reason any) {
	g.flooder.RemovePeer(peer, reason)
	g.mu.Lock()
	delete(g.boxes, peer.ID())
	delete(g.floods, peer.ID())
	g.mu.Unlock()
	g.ask(g.wanted.gone(peer.ID()))
}

// Receive implements p2p.Reactor.
func (g *gossiper) Receive(m p2p.Envelope) {
	switch message := m.Message.(type) {
	case *protomem.Txs:
		if n := len(message.Txs); n != 1 { // a message for each costs the sender, too
			g.stop(m.Src, fmt.Errorf("a message of %d transactions, want 1", n))
			return
		}
		g.take(m.Src, message.Txs[0])
	case *Gossip:
		g.hear(m.Src, message)
	default:
		g.flooder.Receive(m) // rejects it
	}
}

// take hands a peer's transaction to the mempool, whether or not this node requested it. No
// transaction is judged twice while it is pending.
func (g *gossiper) take(from p2p.Peer, raw []byte) {
	if g.WaitSync() {
		return
	}
	h := hash(types.Tx(raw).Key())
	known := g.pool.Held(h) != nil
	g.mu.Lock()
	known = known || g.said.of[h].admitted
	g.taking[h]++
	box := g.boxes[from.ID()]
	g.mu.Unlock()
	if box != nil {
		box.knows(h)
	}
	g.check(from, h, raw)
	admitted, height := known || g.pool.Held(h) != nil, g.height()
	g.mu.Lock()
	if g.taking[h]--; g.taking[h] == 0 {
		delete(g.taking, h)
	}
	admitted = admitted || g.said.of[h].admitted // it may be committed already
	if !admitted {
		g.said.put(h, verdict{height: height})
	}
	g.mu.Unlock()
	g.wanted.got(from.ID(), h, admitted)
	switch {
	case known:
		g.count(metrics.ReceivedKnown, len(raw))
		return
	case admitted:
		g.count(metrics.ReceivedNew, len(raw))
		return
	}
	g.count(metrics.ReceivedRefused, len(raw))
	// A rejection may be due to a race, or to an attacker that the peer could not recognise. But an
	// undecodable transaction is the peer's fault: no node admits it or sends it on.
	if _, err := tx.Decode(raw); err != nil && !errors.Is(err, tx.ErrUnknownKind) {
		g.stop(from, fmt.Errorf("a transaction that no node sends: %w", err))
	}
}

// check hands a transaction to the mempool, or directly to the application. CometBFT's mempool
// hashes each transaction four times, and twice more at its commit, and only the gossip to flooded
// peers reads from it here: blocks are made of the application's pool, and consensus waits only for
// the mempool's first transaction. So a large transaction, which can only be of a round, bypasses a
// mempool that holds another, unless a peer is flooded.
func (g *gossiper) check(from p2p.Peer, h hash, raw []byte) {
	g.mu.Lock()
	past := len(g.floods) == 0 && len(raw) > int(types.BlockPartSizeBytes)
	g.mu.Unlock()
	switch {
	case past && g.pool.Held(h) != nil: // the mempool's cache would reject it
	case past && g.pooled() > 0:
		_, _ = g.pool.CheckTx(context.Background(), &abcitypes.RequestCheckTx{Tx: raw}) // the pool knows the verdict
	default:
		g.flooder.Receive(p2p.Envelope{Src: from, ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: [][]byte{raw}}})
	}
}

// count counts received bytes.
func (g *gossiper) count(what string, bytes int) {
	g.metrics.Received(what, bytes)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.received[what] += int64(bytes)
}

// Received returns the received bytes by kind.
func (g *gossiper) Received() map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.received)
}

// hear takes a peer's message about transactions.
func (g *gossiper) hear(from p2p.Peer, m *Gossip) {
	var lists [4][]hash
	for i, raw := range [][]byte{m.Have, m.Sending, m.Want, m.Lack} {
		if len(raw)%len(hash{}) != 0 || len(raw) > maxHashes*len(hash{}) {
			g.stop(from, fmt.Errorf("a list of %d bytes, want at most %d hashes of %d", len(raw), maxHashes, len(hash{})))
			return
		}
		for ; len(raw) > 0; raw = raw[len(hash{}):] {
			lists[i] = append(lists[i], hash(raw[:len(hash{})]))
		}
	}
	g.count(metrics.ReceivedAnnouncement, m.Size())
	box := g.box(from.ID())
	if box == nil {
		return // the peer has left
	}
	g.announced(box, lists[1], true)
	g.announced(box, lists[0], false)
	var lack []byte
	for _, h := range lists[2] {
		if !box.serve(h) {
			lack = append(lack, h[:]...)
		}
	}
	if lack != nil {
		from.TrySend(*gossip(Gossip{Lack: lack}))
	}
	for _, h := range lists[3] {
		g.ask(g.wanted.lacked(from.ID(), h))
	}
	if g.box(from.ID()) == nil { // the peer has left: RemovePeer missed the notes made after it
		g.ask(g.wanted.gone(from.ID()))
	}
}

// box returns the outbox of a peer, nil if the peer has left.
func (g *gossiper) box(id p2p.ID) *outbox {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.boxes[id]
}

// announced notes the transactions that a peer has, or sends, and requests those missing here.
func (g *gossiper) announced(box *outbox, list []hash, sending bool) {
	height := g.height()
	for _, h := range list {
		box.knows(h)
		if g.pool.Held(h) != nil {
			continue
		}
		g.mu.Lock()
		settled := g.said.settled(h, height) || g.taking[h] > 0
		g.mu.Unlock()
		if !settled {
			g.wanted.add(box.peer.ID(), h, sending)
		}
	}
	if !g.WaitSync() {
		g.ask(g.wanted.next(list))
	}
}

// ask sends requests.
func (g *gossiper) ask(asks []ask) {
	lists := map[p2p.ID][]ask{}
	for _, a := range asks {
		lists[a.peer] = append(lists[a.peer], a)
	}
	for peer, list := range lists {
		box := g.box(peer)
		for len(list) > 0 {
			part := list[:min(len(list), maxHashes)]
			list = list[len(part):]
			var hashes []byte
			for _, a := range part {
				hashes = append(hashes, a.hash[:]...)
			}
			if box == nil || !box.peer.TrySend(*gossip(Gossip{Want: hashes})) {
				for _, a := range part {
					g.wanted.unsent(a)
				}
			}
		}
	}
}

// heard spreads a transaction that the mempool is about to take: the node that it was submitted to
// sends it to all peers, any other node announces it. An aggregate has its own channel, and is
// announced for peers that connect later. A transaction that is admitted again, because its round
// stays open, is announced again.
func (g *gossiper) heard(t *tx.Tx) {
	p := parcel{hash: t.Hash, height: g.height()}
	if g.pool.Held(t.Hash) == nil {
		p.raw = t.Raw
	}
	_, ofRound := tx.PlaceOf(t)
	g.mu.Lock()
	relayed := g.taking[p.hash] > 0
	p.again = g.said.of[p.hash].admitted
	g.said.put(p.hash, verdict{p.height, true, ofRound})
	boxes := make([]*outbox, 0, len(g.boxes))
	for _, b := range g.boxes {
		boxes = append(boxes, b)
	}
	g.mu.Unlock()
	if relayed && p.again {
		return
	}
	if !relayed {
		g.wanted.got("", p.hash, false)
	}
	for _, b := range boxes {
		if relayed || p.again || t.Aggregate != nil {
			b.announce(p)
		} else {
			b.push(p)
		}
	}
}

// height returns the last height that this node has committed, 0 if there is none.
func (g *gossiper) height() int64 {
	if s := g.pool.State(); s != nil {
		return int64(s.Height)
	}
	return 0
}
