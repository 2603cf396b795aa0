package reactor

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app/tx"
)

const (
	// maxHashes bounds the number of hashes in one message.
	maxHashes = 1024
	// announcePause is the time for which hashes are collected before they are announced; up to 100 % jitter is added. In
	// that time the peer's own announcement or the transaction itself may arrive, and the hash then need not be announced.
	announcePause = 20 * time.Millisecond
	// behindPause is the interval at which the queue checks a peer that is behind this node.
	behindPause = 100 * time.Millisecond
	// minFlags is the number of flags, or of announcements, at which a queue first drops the
	// entries of transactions that have left the pool.
	minFlags = 1024
)

// peerQueue is the send queue of one peer. It holds hashes, and reads a transaction from the pool
// only to send it, so the queue does not send transactions that have left the pool. It holds the
// bytes only of a pushed transaction that may not be in the pool yet. The size of the pool bounds
// the queue, even for a peer that reads slowly or is far behind.
type peerQueue struct {
	peer   p2p.Peer
	poolTx func(hash) *tx.Tx
	wake   wakeup

	mu                 sync.Mutex
	queue              []queuedTx // the transactions to send
	announcements      []queuedTx // the transactions to announce
	announceTime       time.Time  // when the announcements are sent
	flags              map[hash]peerFlags
	sweepFlags         int // the number of flags at which stale flags are dropped next
	sweepAnnouncements int // the number of announcements at which stale announcements are dropped next
}

// queuedTx is a queued transaction.
type queuedTx struct {
	hash         hash
	raw          []byte // the bytes of a pushed transaction that may not be in the pool yet; nil otherwise
	height       int64  // the height at which the transaction was admitted
	isRequested  bool   // whether the peer has requested the transaction
	isReferred   bool   // whether the peer was told that this node will send the transaction
	isRepetition bool   // whether the transaction is announced again because its round is still open
}

// peerFlags is the state of one transaction between this node and a peer.
type peerFlags struct {
	hasTx       bool // whether the peer has announced or sent the transaction
	isSent      bool // whether this node has sent the transaction; a syncing peer may have dropped it
	isAnnounced bool // whether this node has announced the transaction; the peer may then request it once
}

func newPeerQueue(peer p2p.Peer, poolTx func(hash) *tx.Tx) *peerQueue {
	return &peerQueue{peer: peer, poolTx: poolTx, wake: make(wakeup, 1), flags: map[hash]peerFlags{},
		sweepFlags: minFlags, sweepAnnouncements: minFlags}
}

// push queues a transaction. If the peer has the transaction, or this node has sent it, push does nothing.
func (b *peerQueue) push(p queuedTx) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.peerFlags(p.hash); m.hasTx || m.isSent {
		return
	}
	b.queue = append(b.dropLeft(b.queue, p.height), p)
	b.wake.signal()
}

// announce queues announcements of transactions. nextAnnounced later leaves out transactions that the peer has.
func (b *peerQueue) announce(list ...queuedTx) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.announcements) == 0 {
		b.announceTime = time.Now().Add(announcePause + rand.N(announcePause))
	}
	for _, p := range list {
		if len(b.announcements) >= b.sweepAnnouncements {
			b.announcements = b.dropLeft(b.announcements, p.height)
			b.sweepAnnouncements = minFlags + 2*len(b.announcements)
		}
		p.raw = nil
		b.announcements = append(b.announcements, p)
	}
	b.wake.signal()
}

// dropLeft drops transactions that have left the pool. It keeps a transaction at the height of its
// admission, because the transaction may not be in the pool yet.
func (b *peerQueue) dropLeft(list []queuedTx, height int64) []queuedTx {
	return slices.DeleteFunc(list, func(p queuedTx) bool { return p.height < height && b.poolTx(p.hash) == nil })
}

// serve queues a requested transaction, once for each announcement. It returns false if the
// transaction is not in the pool.
func (b *peerQueue) serve(h hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.poolTx(h) == nil {
		return false
	}
	m := b.peerFlags(h)
	if !m.isAnnounced {
		return true // the transaction was already sent, or never announced: no answer
	}
	m.isAnnounced = false
	b.flags[h] = m
	b.queue = append(b.queue, queuedTx{hash: h, isRequested: true})
	b.wake.signal()
	return true
}

// markKnown records that the peer has a transaction.
func (b *peerQueue) markKnown(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.peerFlags(h)
	m.hasTx = true
	b.flags[h] = m
}

// peerFlags returns the flags of a transaction. If the queue has too many flags, peerFlags first
// drops the flags of transactions that have left the pool.
func (b *peerQueue) peerFlags(h hash) peerFlags {
	if len(b.flags) >= b.sweepFlags {
		for known := range b.flags {
			if b.poolTx(known) == nil {
				delete(b.flags, known)
			}
		}
		b.sweepFlags = minFlags + 2*len(b.flags)
	}
	return b.flags[h]
}

// wakeup is a channel of one element: a signal stays until the goroutine that it wakes receives it.
type wakeup chan struct{}

func (w wakeup) signal() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// run sends messages until the peer or the node stops.
func (b *peerQueue) run(quit <-chan struct{}) {
	for {
		message, done, wait := b.nextMessage()
		if message != nil {
			if b.peer.Send(*message) {
				done()
				continue
			}
			wait = behindPause // the peer's queue is full, or the peer has stopped
		}
		var again <-chan time.Time
		if wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-b.wake:
		case <-again:
		case <-b.peer.Quit():
			return
		case <-quit:
			return
		}
	}
}

// nextMessage returns the next message, and a function to call when that message has been sent. If there is no message,
// nextMessage returns the time until it must be called again; 0 means that only wake ends the pause.
func (b *peerQueue) nextMessage() (message *p2p.Envelope, done func(), wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	height := int64(-1)
	if s, ok := b.peer.Get(types.PeerStateKey).(mempool.PeerState); ok {
		height = s.GetHeight()
	}
	ready := func(p queuedTx) bool { return p.isRequested || height >= p.height-1 } // as in CometBFT's mempool
	if list := b.nextPushed(ready); list != nil {
		return gossipEnvelope(Gossip{Sending: list}), func() {}, 0
	}
	if len(b.announcements) > 0 {
		if wait = time.Until(b.announceTime); wait <= 0 {
			if list := b.nextAnnounced(ready); list != nil {
				return gossipEnvelope(Gossip{Have: list}), func() {}, 0
			}
			wait = 0
			if len(b.announcements) > 0 {
				wait = behindPause
			}
		}
	}
	if h, raw := b.nextTx(ready); raw != nil {
		return &p2p.Envelope{ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: [][]byte{raw}}},
			func() { b.markSent(h) }, 0
	}
	if len(b.queue) > 0 {
		wait = behindPause
	}
	return nil, nil, wait
}

// nextTx returns the first transaction that is ready to be sent. It drops transactions that have
// left the pool. It also drops transactions that the peer has and has not requested.
func (b *peerQueue) nextTx(ready func(queuedTx) bool) (of hash, raw []byte) {
	kept := b.queue[:0]
	for i, p := range b.queue {
		if raw = p.raw; raw == nil {
			if t := b.poolTx(p.hash); t != nil {
				raw = t.Raw
			}
		}
		if raw == nil || !p.isRequested && b.flags[p.hash].hasTx {
			continue
		}
		if ready(p) {
			b.queue = append(kept, b.queue[i:]...)
			return p.hash, raw
		}
		kept = append(kept, p)
	}
	b.queue = kept
	return hash{}, nil
}

// nextPushed returns the hashes of the queued transactions that this node sends without a request
// and has not yet told the peer about.
func (b *peerQueue) nextPushed(ready func(queuedTx) bool) (list []byte) {
	for i := range b.queue {
		if p := &b.queue[i]; !p.isReferred && !p.isRequested && ready(*p) && len(list) < maxHashes*len(hash{}) {
			p.isReferred = true
			list = append(list, p.hash[:]...)
		}
	}
	return list
}

// nextAnnounced removes and returns the hashes to announce. It leaves out transactions that are not
// in the pool or that the peer has.
func (b *peerQueue) nextAnnounced(ready func(queuedTx) bool) (list []byte) {
	kept := b.announcements[:0]
	for _, p := range b.announcements {
		m := b.peerFlags(p.hash)
		switch {
		case m.hasTx || m.isSent && !p.isRepetition || b.poolTx(p.hash) == nil:
		case !ready(p) || len(list) == maxHashes*len(hash{}):
			kept = append(kept, p)
		default:
			m.isAnnounced = true
			b.flags[p.hash] = m
			list = append(list, p.hash[:]...)
		}
	}
	b.announcements = kept
	return list
}

// markSent removes a transaction from the queue after it was sent.
func (b *peerQueue) markSent(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.queue, func(p queuedTx) bool { return p.hash == h }); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
	m := b.peerFlags(h)
	m.isSent = true
	b.flags[h] = m
}

func gossipEnvelope(m Gossip) *p2p.Envelope {
	return &p2p.Envelope{ChannelID: gossipChannel, Message: &m}
}
