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
	// maxHashes bounds one list of a message.
	maxHashes = 1024
	// announcePause is how long hashes are collected before they are announced, and up to as long
	// again by chance: what a peer says of them meanwhile need not be said to it, and of two peers
	// one is first. What who has it first sends by itself arrives meanwhile.
	announcePause = 20 * time.Millisecond
	// behindPause is how often a peer that is behind is looked at again.
	behindPause = 100 * time.Millisecond
	// minMarks is the number of marks from which on those of transactions that have left the pool
	// are forgotten.
	minMarks = 1024
)

// outbox is what is to be sent to a peer. It holds hashes, and looks for the transaction when its
// turn comes: what has left the pool is not sent. Its size is bounded by the pool's, however slowly
// a peer reads and however far behind it is.
type outbox struct {
	peer p2p.Peer
	held func(hash) *tx.Tx
	wake chan struct{}

	mu     sync.Mutex
	queue  []parcel // to be sent whole
	hidden []parcel // to be announced
	due    time.Time
	marks  map[hash]mark
	sweep  int // the number of marks at which they are swept
	tidy   int // the number of hidden parcels at which what has left the pool is dropped
}

// parcel is a transaction for a peer.
type parcel struct {
	hash   hash
	raw    []byte // of what is to be sent whole and may not be in the pool yet
	height int64  // at which it was admitted
	asked  bool   // the peer has asked for it
	told   bool   // the peer knows that it is sent
	again  bool   // it was gossiped before, and the round is still open
}

// mark is what is known of a peer and a transaction.
type mark struct {
	knows   bool // the peer has announced it
	sent    bool // it was sent to the peer, which drops it while it syncs
	offered bool // it was announced to the peer, which may ask for it once
}

func newOutbox(peer p2p.Peer, held func(hash) *tx.Tx) *outbox {
	return &outbox{peer: peer, held: held, wake: make(chan struct{}, 1), marks: map[hash]mark{}, sweep: minMarks, tidy: minMarks}
}

// push sends a transaction to the peer, unless it knows it.
func (b *outbox) push(p parcel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.mark(p.hash); m.knows || m.sent {
		return
	}
	b.queue = append(b.current(b.queue, p.height), p)
	b.signal()
}

// announce tells the peer of transactions, unless it knows them.
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

// current drops what has left the pool. At the height at which it was admitted it may not be there
// yet.
func (b *outbox) current(list []parcel, height int64) []parcel {
	return slices.DeleteFunc(list, func(p parcel) bool { return p.height < height && b.held(p.hash) == nil })
}

// serve sends the peer what it asks for, once for each time that it was announced to it. It returns
// false for what is not in the pool.
func (b *outbox) serve(h hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held(h) == nil {
		return false
	}
	m := b.mark(h)
	if !m.offered {
		return true // it is sent already, or never was announced: not worth an answer
	}
	m.offered = false
	b.marks[h] = m
	b.queue = append(b.queue, parcel{hash: h, asked: true})
	b.signal()
	return true
}

// knows notes that the peer has a transaction.
func (b *outbox) knows(h hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mark(h)
	m.knows = true
	b.marks[h] = m
}

// mark returns a mark, and makes room for it.
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

// run sends until the peer or the node ends.
func (b *outbox) run(quit <-chan struct{}) {
	for {
		message, done, wait := b.next()
		if message != nil {
			if b.peer.Send(*message) {
				done()
				continue
			}
			wait = behindPause // its queue is full, or it is gone
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

// next returns the next message and what is to be done once it is sent, or how long to wait for
// one; 0 for ever.
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

// whole returns the first transaction that may be sent whole, and drops what need not be sent.
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

// untold returns the hashes that are sent without being asked for and were not told of.
func (b *outbox) untold(ready func(parcel) bool) (list []byte) {
	for i := range b.queue {
		if p := &b.queue[i]; !p.told && !p.asked && ready(*p) && len(list) < maxHashes*len(hash{}) {
			p.told = true
			list = append(list, p.hash[:]...)
		}
	}
	return list
}

// unknown takes out the hashes that are to be announced, of transactions that are still held and
// that the peer does not know.
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

// sent takes a transaction out of the queue.
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
