package network

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

// earlyClose is the max age of a connection whose close counts as early. A peer that closes a connection early
// probably does not admit this node, because CometBFT decides on admission right after the handshake.
const earlyClose = 3 * time.Second

// maxEarlyCloses is the max number of nodes whose early closes are recorded.
const maxEarlyCloses = 64

// earlyCloses is a p2p reactor without messages. It records the nodes that closed their last
// connection with this node during or right after the handshake.
type earlyCloses struct {
	p2p.BaseReactor
	now  func() time.Time
	lost chan struct{} // receives when a connection has ended that had lasted longer than earlyClose

	mu           sync.Mutex
	connectTimes map[p2p.ID]time.Time // when each connected peer was added
	closeTimes   map[p2p.ID]time.Time // when each recorded node last closed a connection early
}

func newEarlyCloses() *earlyCloses {
	e := &earlyCloses{now: time.Now, lost: make(chan struct{}, 1), connectTimes: map[p2p.ID]time.Time{},
		closeTimes: map[p2p.ID]time.Time{}}
	e.BaseReactor = *p2p.NewBaseReactor("EarlyCloses", e)
	return e
}

// AddPeer implements p2p.Reactor.
func (e *earlyCloses) AddPeer(peer p2p.Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connectTimes[peer.ID()] = e.now()
}

// RemovePeer implements p2p.Reactor.
func (e *earlyCloses) RemovePeer(peer p2p.Peer, reason any) {
	err, isError := reason.(error)
	e.mu.Lock()
	since, added := e.connectTimes[peer.ID()]
	delete(e.connectTimes, peer.ID())
	e.mu.Unlock()
	if added && e.now().Sub(since) > earlyClose {
		e.forget(peer.ID())
		select {
		case e.lost <- struct{}{}:
		default:
		}
		return
	}
	if isError && isClosedByPeer(err) {
		e.note(peer.ID())
	}
}

// note records that a node has closed its connection with this node early. If more than
// maxEarlyCloses nodes are recorded, note drops the oldest record.
func (e *earlyCloses) note(id p2p.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closeTimes[id] = e.now(); len(e.closeTimes) <= maxEarlyCloses {
		return
	}
	oldest := id
	for other, at := range e.closeTimes {
		if at.Before(e.closeTimes[oldest]) {
			oldest = other
		}
	}
	delete(e.closeTimes, oldest)
}

// forget drops the record of a node that was connected for longer than earlyClose, or that this node could not reach.
func (e *earlyCloses) forget(id p2p.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.closeTimes, id)
}

// connectedPeers returns the number of peers that have been connected for longer than earlyClose.
func (e *earlyCloses) connectedPeers() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, since := range e.connectTimes {
		if e.now().Sub(since) > earlyClose {
			n++
		}
	}
	return n
}

// closedBy returns the ids of the recorded nodes, in increasing order. It leaves out nodes that
// have been connected again for longer than earlyClose.
func (e *earlyCloses) closedBy() (ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(e.closeTimes)) {
		if since, added := e.connectTimes[id]; !added || e.now().Sub(since) <= earlyClose {
			ids = append(ids, string(id))
		}
	}
	return ids
}
