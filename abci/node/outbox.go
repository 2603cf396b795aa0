package node

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
	// maxHashes bounds the hashes in one message.
	maxHashes = 1024
	// announcePause is the time for which hashes are collected before they are announced, plus up
	// to 100 % jitter, so that the peer's own announcement, or the transaction pushed by its
	// origin, can arrive first.
	announcePause = 20 * time.Millisecond
	// behindPause is the interval at which a peer that is behind is checked again.
	behindPause = 100 * time.Millisecond
	// minMarks is the number of marks from which on the marks of transactions that have left the
	// pool are dropped.
	minMarks = 1024
)

// outbox is the send queue of a peer. It holds hashes and looks the transaction up when its turn
// comes, so a transaction that has left the pool is not sent. The pool's size bounds the queue,
// however slowly the peer reads and however far behind it is.
type outbox struct {
	peer p2p.Peer
	held func(hash) *tx.Tx
	wake chan struct{}

	mu     sync.Mutex
	queue  []parcel // transactions to send
	hidden []parcel // transactions to announce
	due    time.Time
	marks  map[hash]mark
	sweep  int // number of marks at which the next sweep is made
	tidy   int // number of hidden parcels at which those that left the pool are dropped
}

// parcel is an outgoing transaction.
type parcel struct {
	hash   hash
	raw    []byte // of a pushed transaction, which may not be in the pool yet
	height int64  // height of its admission
	asked  bool   // the peer has asked for it
	told   bool   // the peer was told that it will be sent
	again  bool   // a repetition, because its round is still open
}

// mark is the state of a transaction at a peer.
type mark struct {
	knows   bool // the peer has announced it
	sent    bool // it was sent; a syncing peer drops it
	offered bool // it was announced; the peer may request it once
}

func newOutbox(peer p2p.Peer, held func(hash) *tx.Tx) *outbox {
	return &outbox{peer: peer, held: held, wake: make(chan struct{}, 1), marks: map[hash]mark{}, sweep: minMarks, tidy: minMarks}
}

// push queues a transaction, unless the peer has it.
func (b *outbox) push(p parcel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.mark(p.hash); m.knows || m.sent {
		return
	}
	b.queue = append(b.current(b.queue, p.height), p)
	b.signal()
}

// announce queues announcements of transactions, unless the peer has them.
func (b *outbox) announce(list ...parcel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.hidden) == 0 {
		b.due = time.Now().Add(announcePause + rand.N(announcePause))
	}
	for _, p := range list {
		if len(b.hidden) >= b.tidy {
			b.hidden = b.current(b.hidden, p.height)
			b.tidy = minMarks + 2*len(b.hidden)
		}
		p.raw = nil
		b.hidden = append(b.hidden, p)
	}
	b.signal()
}

// current drops parcels that have left the pool. At the height of its admission a transaction may
// not be in the pool yet.
func (b *outbox) current(list []parcel, height int64) []parcel {
	return slices.DeleteFunc(list, func(p parcel) bool { return p.height < height && b.held(p.hash) == nil })
}

// serve queues a requested transaction, once for each announcement. It returns false if the
// transaction is not in the pool.
func (b *outbox) serve(h hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held(h) == nil {
		return false
	}
	m := b.mark(h)
	if !m.offered {
		return true // it was sent already, or was never announced: no answer
	}
	m.offered = false
	b.marks[h] = m
	b.queue = append(b.queue, parcel{hash: h, asked: true})
	b.signal()
	return true
}

// knows records that the peer has a transaction.
func (b *outbox) knows(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mark(h)
	m.knows = true
	b.marks[h] = m
}

// mark returns the mark of a transaction, after a sweep if there are too many.
func (b *outbox) mark(h hash) mark {
	if len(b.marks) >= b.sweep {
		for known := range b.marks {
			if b.held(known) == nil {
				delete(b.marks, known)
			}
		}
		b.sweep = minMarks + 2*len(b.marks)
	}
	return b.marks[h]
}

func (b *outbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run sends messages until the peer or the node stops.
func (b *outbox) run(quit <-chan struct{}) {
	for {
		message, done, wait := b.next()
		if message != nil {
			if b.peer.Send(*message) {
				done()
				continue
			}
			wait = behindPause // the peer's queue is full, or it has stopped
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

// next returns the next message and a function to call after sending it, or the time to wait for
// one; 0 is without limit.
func (b *outbox) next() (message *p2p.Envelope, done func(), wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	height := int64(-1)
	if s, ok := b.peer.Get(types.PeerStateKey).(mempool.PeerState); ok {
		height = s.GetHeight()
	}
	ready := func(p parcel) bool { return p.asked || height >= p.height-1 } // as CometBFT's mempool
	if list := b.untold(ready); list != nil {
		return gossip(Gossip{Sending: list}), func() {}, 0
	}
	if len(b.hidden) > 0 {
		if wait = time.Until(b.due); wait <= 0 {
			if list := b.unknown(ready); list != nil {
				return gossip(Gossip{Have: list}), func() {}, 0
			}
			wait = 0
			if len(b.hidden) > 0 {
				wait = behindPause
			}
		}
	}
	if h, raw := b.whole(ready); raw != nil {
		return &p2p.Envelope{ChannelID: mempool.MempoolChannel, Message: &protomem.Txs{Txs: [][]byte{raw}}}, func() { b.sent(h) }, 0
	}
	if len(b.queue) > 0 {
		wait = behindPause
	}
	return nil, nil, wait
}

// whole returns the first transaction that may be sent, and drops those that need not be sent.
func (b *outbox) whole(ready func(parcel) bool) (of hash, raw []byte) {
	kept := b.queue[:0]
	for i, p := range b.queue {
		if raw = p.raw; raw == nil {
			if t := b.held(p.hash); t != nil {
				raw = t.Raw
			}
		}
		if raw == nil || !p.asked && b.marks[p.hash].knows {
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

// untold returns the hashes of queued transactions that the peer has not requested and was not told
// of.
func (b *outbox) untold(ready func(parcel) bool) (list []byte) {
	for i := range b.queue {
		if p := &b.queue[i]; !p.told && !p.asked && ready(*p) && len(list) < maxHashes*len(hash{}) {
			p.told = true
			list = append(list, p.hash[:]...)
		}
	}
	return list
}

// unknown removes and returns the hashes to announce: those of transactions that the pool holds and
// the peer does not have.
func (b *outbox) unknown(ready func(parcel) bool) (list []byte) {
	kept := b.hidden[:0]
	for _, p := range b.hidden {
		m := b.mark(p.hash)
		switch {
		case m.knows || m.sent && !p.again || b.held(p.hash) == nil:
		case !ready(p) || len(list) == maxHashes*len(hash{}):
			kept = append(kept, p)
		default:
			m.offered = true
			b.marks[p.hash] = m
			list = append(list, p.hash[:]...)
		}
	}
	b.hidden = kept
	return list
}

// sent removes a transaction from the queue.
func (b *outbox) sent(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range b.queue {
		if p.hash == h {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			break
		}
	}
	m := b.mark(h)
	m.sent = true
	b.marks[h] = m
}

func gossip(m Gossip) *p2p.Envelope {
	return &p2p.Envelope{ChannelID: gossipChannel, Message: &m}
}
