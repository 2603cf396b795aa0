package reactor

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// held is a pool, and a mempool reactor that admits the transactions that the test allows.
type held struct {
	p2p.BaseReactor
	g       *TxReactor
	mu      sync.Mutex
	txs     []*tx.Tx
	state   app.State
	refuses bool
	syncing bool
	flooded []p2p.ID
	looked  func()   // if not nil, called at every lookup of a transaction
	ways    []string // the paths by which transactions reached CheckTx
}

func (h *held) FilterMsgBytes(byte, p2p.Peer, []byte) error { return nil }
func (h *held) EnableInOutTxs()                             {}
func (h *held) AddPeer(p p2p.Peer)                          { h.flooded = append(h.flooded, p.ID()) }

func (h *held) WaitSync() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.syncing
}

func (h *held) State() *app.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state
	return &s
}

func (h *held) PoolTx(of [32]byte) *tx.Tx {
	h.mu.Lock()
	looked := h.looked
	h.mu.Unlock()
	if looked != nil {
		looked()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.txs {
		if t.Hash == of {
			return t
		}
	}
	return nil
}

func (h *held) PoolTxs() []*tx.Tx {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*tx.Tx(nil), h.txs...)
}

// set changes the pool under its lock.
func (h *held) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *held) CheckTx(_ context.Context, r *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	h.set(func() { h.ways = append(h.ways, "application") })
	if t, err := tx.Decode(r.Tx); err == nil {
		h.submit(t)
	}
	return &abcitypes.ResponseCheckTx{}, nil
}

func (h *held) Receive(m p2p.Envelope) {
	h.set(func() { h.ways = append(h.ways, "mempool") })
	for _, raw := range m.Message.(*protomem.Txs).Txs {
		if t, err := tx.Decode(raw); err == nil {
			h.submit(t)
		}
	}
}

// submit admits a transaction as CheckTx does.
func (h *held) submit(t *tx.Tx) {
	if h.PoolTx(t.Hash) == nil {
		refused := false
		h.set(func() {
			if refused = h.refuses; !refused {
				h.txs = append(h.txs, t)
			}
		})
		if refused {
			return
		}
	}
	h.g.OnAdmitted(t)
}

// fake is a peer that records the messages sent to it.
type fake struct {
	*mock.Peer
	floods bool
	mu     sync.Mutex
	height int64
	got    []p2p.Envelope
}

func (f *fake) GetHeight() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.height
}

func (f *fake) Get(key string) any {
	if key == types.PeerStateKey {
		return f
	}
	return f.Peer.Get(key)
}

func (f *fake) NodeInfo() p2p.NodeInfo {
	info := p2p.DefaultNodeInfo{Channels: []byte{mempool.MempoolChannel}}
	if !f.floods {
		info.Channels = append(info.Channels, gossipChannel)
	}
	return info
}

func (f *fake) Send(m p2p.Envelope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, m)
	return true
}

func (f *fake) TrySend(m p2p.Envelope) bool { return f.Send(m) }

// messages returns the messages sent to the peer.
func (f *fake) messages() []p2p.Envelope {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]p2p.Envelope(nil), f.got...)
}

// sent returns the hashes in each list sent to the peer, and the hashes of the transactions sent to
// it.
func (f *fake) sent() (have, sending, want, lack, txs []hash) {
	split := func(into *[]hash, raw []byte) {
		for ; len(raw) > 0; raw = raw[32:] {
			*into = append(*into, hash(raw[:32]))
		}
	}
	for _, m := range f.messages() {
		switch m := m.Message.(type) {
		case *Gossip:
			split(&have, m.Have)
			split(&sending, m.Sending)
			split(&want, m.Want)
			split(&lack, m.Lack)
		case *protomem.Txs:
			for _, raw := range m.Txs {
				txs = append(txs, hash(types.Tx(raw).Key()))
			}
		}
	}
	return have, sending, want, lack, txs
}

// bench is a TxReactor with peers, and the peers that it has stopped.
type bench struct {
	*testing.T
	*TxReactor
	held    *held
	peers   []*fake
	stopped []p2p.ID
}

func gossiping(t *testing.T, peers int) *bench {
	b := &bench{T: t, TxReactor: NewTxReactor(nil, false, nil, limit.Messages{}, nil, log.NewNopLogger()),
		held: &held{state: app.State{Height: 5}}}
	b.held.BaseReactor = *p2p.NewBaseReactor("held", b.held) // its Stop ends the goroutines of the reactor
	b.held.g, b.mempoolReactor, b.pool = b.TxReactor, b.held, b.held
	b.stop = func(p p2p.Peer, _ any) { b.stopped = append(b.stopped, p.ID()) }
	require.NoError(t, b.Start())
	t.Cleanup(func() { require.NoError(t, b.Stop()) })
	for range peers {
		b.join(&fake{Peer: mock.NewPeer(nil), height: 5})
	}
	return b
}

func (b *bench) join(f *fake) *fake {
	b.peers = append(b.peers, f)
	b.AddPeer(f)
	b.Cleanup(func() { _ = f.Stop() })
	return f
}

// tells delivers a gossip message of a peer.
func (b *bench) tells(f *fake, m Gossip) {
	b.Receive(p2p.Envelope{Src: f, ChannelID: gossipChannel, Message: &m})
}

// sends delivers a transaction of a peer.
func (b *bench) sends(f *fake, raw []byte) {
	b.Receive(p2p.Envelope{Src: f, ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: [][]byte{raw}}})
}

// settle waits until nothing has been sent for a while.
func (b *bench) settle() {
	for was, now := -1, 0; was != now; {
		time.Sleep(2*announcePause + 2*behindPause)
		was, now = now, 0
		for _, f := range b.peers {
			now += len(f.messages())
		}
	}
}

func gradient(i int) *tx.Tx {
	return apptest.Sign(i%4, &tx.Gradient{Round: uint64(i), Participant: uint32(i % 4), Payload: []byte{byte(i)}})
}

// TestGossipOfWhatIsSubmitted: the node to which a transaction was submitted pushes it to all peers
// once, after a Sending message. An aggregate, which has a channel of its own, is only announced.
func TestGossipOfWhatIsSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 3)
		x := gradient(1)
		b.held.submit(x)
		b.settle()
		for _, f := range b.peers {
			have, sending, _, _, txs := f.sent()
			require.Empty(t, have)
			require.Equal(t, []hash{x.Hash}, sending)
			require.Equal(t, []hash{x.Hash}, txs)
			require.NotNil(t, f.messages()[0].Message.(*Gossip).Sending, "before the transaction")
		}
		a := apptest.Sign(1, &tx.Aggregate{Round: 3, Leader: 1, Digest: make([]byte, 32)})
		b.held.submit(a)
		b.settle()
		have, _, _, _, txs := b.peers[0].sent()
		require.Equal(t, []hash{a.Hash}, have)
		require.Len(t, txs, 1)
	})
}

// TestGossipOfWhatIsReceived: a node that received a transaction announces it to the peers that
// have not announced it, and serves one request for each announcement. It does not serve a peer
// without an announcement, and answers Lack for a transaction that has left the pool.
func TestGossipOfWhatIsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 3)
		x := gradient(1)
		b.sends(b.peers[0], x.Raw)
		b.tells(b.peers[1], Gossip{Have: x.Hash[:]})
		b.settle()
		for _, f := range b.peers[:2] {
			require.Empty(t, f.messages())
		}
		have, sending, _, _, txs := b.peers[2].sent()
		require.Equal(t, []hash{x.Hash}, have)
		require.Empty(t, sending)
		require.Empty(t, txs)
		for range 5 {
			b.tells(b.peers[2], Gossip{Want: x.Hash[:]})
			b.tells(b.peers[1], Gossip{Want: x.Hash[:]})
		}
		b.settle()
		_, _, _, _, txs = b.peers[2].sent()
		require.Equal(t, []hash{x.Hash}, txs, "once")
		require.Empty(t, b.peers[1].messages(), "it was offered nothing")
		b.held.set(func() { b.held.txs = nil })
		b.tells(b.peers[2], Gossip{Want: x.Hash[:]})
		_, _, _, lack, _ := b.peers[2].sent()
		require.Equal(t, []hash{x.Hash}, lack)
		require.Empty(t, b.stopped)
	})
}

// TestLargeTransactionsGoPastTheMempool: a transaction larger than a block part goes directly to
// the application, once and with the same verdict. The exceptions are an empty mempool, because
// consensus waits for its first transaction, and a flooded peer, because the mempool feeds it.
func TestLargeTransactionsGoPastTheMempool(t *testing.T) {
	large := apptest.Sign(0, &tx.Gradient{Payload: make([]byte, types.BlockPartSizeBytes)})
	small := apptest.Sign(1, &tx.Gradient{Payload: make([]byte, 1000)})
	pooled := 0
	b := gossiping(t, 2)
	b.mempoolSize = func() int { return pooled }
	b.onTx(b.peers[0], large.Raw)
	require.Equal(t, []string{"mempool"}, b.held.ways)
	b.held.set(func() { b.held.txs = nil })
	pooled = 1
	b.onTx(b.peers[0], small.Raw)
	b.onTx(b.peers[0], large.Raw)
	require.Equal(t, []string{"mempool", "mempool", "application"}, b.held.ways)
	require.NotNil(t, b.held.PoolTx(large.Hash))
	b.onTx(b.peers[1], large.Raw)
	require.Len(t, b.held.ways, 3, "it is held")
	b.held.set(func() { b.held.txs = nil })
	b.join(&fake{Peer: mock.NewPeer(nil), height: 5, floods: true})
	b.onTx(b.peers[0], large.Raw)
	require.Equal(t, "mempool", b.held.ways[3])
	require.Empty(t, b.stopped)
}

// TestGossipAgain: a transaction that the mempool takes again, because its round stays open, is
// announced to the peers that it was sent to, because a syncing peer has dropped it. It is not
// announced to a peer that has announced it, and a peer cannot trigger the repetition.
func TestGossipAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 2)
		x := gradient(1)
		b.held.submit(x)
		b.settle()
		b.tells(b.peers[1], Gossip{Have: x.Hash[:]})
		b.sends(b.peers[1], x.Raw)
		b.settle()
		for _, f := range b.peers {
			require.Len(t, f.messages(), 2)
		}
		b.held.submit(x)
		b.settle()
		have, _, _, _, _ := b.peers[0].sent()
		require.Equal(t, []hash{x.Hash}, have)
		require.Len(t, b.peers[1].messages(), 2)
		b.tells(b.peers[0], Gossip{Want: x.Hash[:]})
		b.settle()
		_, _, _, _, txs := b.peers[0].sent()
		require.Len(t, txs, 2)
	})
}

// TestGossipAsks: an announced transaction is requested once, from the first announcer. A
// transaction that the node holds, held before or rejected at this height is not requested. A peer
// that announces and withholds is skipped.
func TestGossipAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 3)
		bad, good, late := b.peers[0], b.peers[1], b.peers[2]
		x, y := gradient(1), gradient(2)
		b.tells(bad, Gossip{Have: x.Hash[:]})
		b.tells(good, Gossip{Have: x.Hash[:]})
		_, _, want, _, _ := bad.sent()
		require.Equal(t, []hash{x.Hash}, want)
		require.Empty(t, good.messages())
		require.Eventually(t, func() bool { _, _, want, _, _ := good.sent(); return len(want) == 1 }, 10*time.Second,
			time.Millisecond)
		b.sends(good, x.Raw)
		require.NotNil(t, b.held.PoolTx(x.Hash))
		b.held.set(func() { b.held.txs = nil }) // its round is closed
		b.tells(late, Gossip{Have: x.Hash[:]})
		b.held.set(func() { b.held.refuses = true })
		b.sends(good, y.Raw)
		b.tells(late, Gossip{Have: y.Hash[:]})
		require.Empty(t, late.messages())
		b.held.set(func() { b.held.state.Height++ })
		b.tells(bad, Gossip{Have: y.Hash[:]})
		b.tells(bad, Gossip{Lack: y.Hash[:]})
		b.tells(late, Gossip{Have: y.Hash[:]})
		_, _, want, _, _ = late.sent()
		require.Equal(t, []hash{y.Hash}, want, "a refused one may be admitted at the next height")
		b.tells(late, Gossip{Sending: y.Hash[:], Have: make([]byte, 32*maxHashes)})
		require.Empty(t, b.stopped, "no race and no withholding breaks the protocol")
		require.Equal(t, map[string]int64{"new": int64(len(x.Raw)), "refused": int64(len(y.Raw)),
			"announcement": b.ReceivedBytes()["announcement"]}, b.ReceivedBytes())
	})
}

// TestGossipForgetsAPeer: nothing is requested from a peer that has left, even if it leaves while
// its announcement is read.
func TestGossipForgetsAPeer(t *testing.T) {
	b := gossiping(t, 2)
	peer, other := b.peers[0], b.peers[1]
	x := gradient(1)
	b.tells(peer, Gossip{Have: x.Hash[:]})
	b.RemovePeer(peer, "gone")
	require.Empty(t, b.requests.requests)
	require.Empty(t, b.requests.peers)
	var once sync.Once
	b.held.set(func() { b.held.looked = func() { once.Do(func() { b.RemovePeer(other, "gone") }) } })
	b.tells(other, Gossip{Have: x.Hash[:], Sending: x.Hash[:]})
	require.Empty(t, b.requests.requests)
	require.Empty(t, b.requests.peers)
}

// TestGossipBreaches: lists that are malformed or too long, and a transaction that cannot be
// decoded, end the connection. A rejected transaction does not.
func TestGossipBreaches(t *testing.T) {
	b := gossiping(t, 1)
	f := b.peers[0]
	b.held.refuses = true
	b.sends(f, gradient(1).Raw)
	require.Empty(t, b.stopped)
	for i, breach := range []func(){
		func() { b.tells(f, Gossip{Have: make([]byte, 33)}) },
		func() { b.tells(f, Gossip{Want: make([]byte, 32*(maxHashes+1))}) },
		func() { b.sends(f, []byte("noise")) },
	} {
		breach()
		require.Len(t, b.stopped, i+1)
	}
}

// TestGossipTakesOneTransactionAMessage: a message with three million empty transactions, which no
// node sends, is rejected before any of them is judged.
func TestGossipTakesOneTransactionAMessage(t *testing.T) {
	b := gossiping(t, 1)
	for i, n := range []int{0, 2, 3_000_000} {
		b.Receive(p2p.Envelope{Src: b.peers[0], ChannelID: mempool.MempoolChannel,
			Message: &protomem.Txs{Txs: make([][]byte, n)}})
		require.Len(t, b.stopped, i+1)
	}
	require.Empty(t, b.ReceivedBytes())
}

// TestOutboxOfAPeerThatStaysBehind: a peer that never announces its height, or reads nothing, takes
// no more memory than the pending transactions.
func TestOutboxOfAPeerThatStaysBehind(t *testing.T) {
	b := gossiping(t, 0)
	behind := b.join(&fake{Peer: mock.NewPeer(nil)})
	deaf := newPeerQueue(behind, func(h hash) *tx.Tx { return b.held.PoolTx(h) }) // nothing reads from this queue
	for i := range 3 * minFlags {
		x := gradient(i)
		b.held.submit(x)
		deaf.announce(queuedTx{hash: x.Hash, height: b.height()})
		deaf.push(queuedTx{hash: x.Hash, raw: x.Raw, height: b.height()})
		b.held.set(func() { b.held.txs = nil; b.held.state.Height++ })
	}
	for _, box := range []*peerQueue{b.queues[behind.ID()], deaf} {
		box.mu.Lock()
		require.LessOrEqual(t, len(box.queue), 2)
		require.LessOrEqual(t, len(box.announcements), minFlags+2)
		box.mu.Unlock()
	}
}

// TestGossipWhileSyncing: a syncing node drops transactions, and requests the announced ones once
// it has caught up.
func TestGossipWhileSyncing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 1)
		f, x, y := b.peers[0], gradient(1), gradient(2)
		b.held.set(func() { b.held.syncing = true })
		b.tells(f, Gossip{Have: x.Hash[:]})
		b.tells(f, Gossip{Sending: y.Hash[:]})
		b.sends(f, y.Raw)
		time.Sleep(2 * gossipTick)
		require.Empty(t, f.messages())
		require.Empty(t, b.held.PoolTxs())
		b.held.set(func() { b.held.syncing = false })
		require.Eventually(t, func() bool { _, _, want, _, _ := f.sent(); return len(want) == 1 && want[0] == x.Hash },
			10*time.Second, time.Millisecond)
	})
}

// TestGossipToWhoComesLater: all pending transactions are announced to a new peer, once it is not
// behind. A peer without the channel is flooded.
func TestGossipToWhoComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 0)
		x, y := gradient(1), gradient(2)
		b.held.submit(x)
		b.held.submit(y)
		old := b.join(&fake{Peer: mock.NewPeer(nil), floods: true})
		require.Equal(t, []p2p.ID{old.ID()}, b.held.flooded)
		f := b.join(&fake{Peer: mock.NewPeer(nil), height: 3})
		b.settle()
		require.Empty(t, f.messages())
		f.mu.Lock()
		f.height = 4
		f.mu.Unlock()
		require.Eventually(t, func() bool { have, _, _, _, _ := f.sent(); return len(have) == 2 }, 10*time.Second,
			time.Millisecond)
		b.RemovePeer(f, nil)
		require.Empty(t, b.queues)
	})
}

// TestOutboxIsBounded: flags of unknown transactions are dropped.
func TestOutboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gossiping(t, 1)
		box := b.queues[b.peers[0].ID()]
		x := gradient(1)
		b.held.submit(x)
		for i := range 10 * minFlags {
			box.markKnown(nth(i))
			require.False(t, box.serve(nth(i)))
		}
		b.settle()
		box.mu.Lock()
		defer box.mu.Unlock()
		require.LessOrEqual(t, len(box.flags), minFlags+3)
		require.True(t, box.flags[x.Hash].isSent, "of what is pending it is remembered")
	})
}
