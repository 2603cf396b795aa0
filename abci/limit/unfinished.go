package limit

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
)

// errUnfinished is the reason for disconnecting a peer whose messages do not end.
var errUnfinished = errors.New("the messages that it began and has not ended take too much memory")

const (
	// unfinishedTick is the interval at which Watch checks the peers. CometBFT counts the bytes of a connection in samples
	// of 100 ms, with a clock that ticks every 20 ms, so CometBFT's count is at most two checks old.
	unfinishedTick = 100 * time.Millisecond
	// maxUnfinished is the fixed part of the limit on the bytes of all peers' unfinished messages together. NewMessages
	// adds a part that depends on the chain: the bytes of a round and of two blocks.
	maxUnfinished = 4 << 20
	// toleratedUnfinished is the max number of bytes of a peer's unfinished messages with which a
	// check resets the peer's weight.
	toleratedUnfinished = 4 << 10
	// peerBytesKey is the key under which a peer's attributes hold its peerBytes.
	peerBytesKey = "spdl.unfinished"
)

// peerBytes counts the bytes of messages that a peer has begun and not finished. The goroutine of
// the peer's connection writes wholeBytes, and Watch writes the other fields.
type peerBytes struct {
	wholeBytes     atomic.Int64 // the bytes of whole messages, with packet headers
	lastWholeBytes [2]int64     // the values of wholeBytes at the last two checks
	// credit is the part of the received bytes minus wholeBytes that belongs to no unfinished message:
	// the bytes of pings, minus the bytes by which wholeBytes is too high.
	credit int64
	// weight is the sum of the unfinished bytes over all checks since the last check that found at
	// most toleratedUnfinished bytes.
	weight int64
}

// unfinishedLimiter bounds the bytes of unfinished messages of all peers together. CometBFT buffers
// these bytes for each channel of each peer and does not count them. The limiter computes their
// number: the bytes received over a connection minus the bytes of whole messages.
type unfinishedLimiter struct {
	max   int64
	ticks int64
}

// Track adds the counter peerBytes to the attributes of a peer. It is called before the peer's connection starts.
func (u *unfinishedLimiter) Track(peer p2p.Peer) p2p.Peer {
	if _, ok := peer.Get(peerBytesKey).(*peerBytes); !ok {
		peer.Set(peerBytesKey, new(peerBytes))
	}
	return peer
}

// Finished counts a whole message from a peer.
func (u *unfinishedLimiter) Finished(from p2p.Peer, channel byte, bytes int) {
	if t, ok := from.Get(peerBytesKey).(*peerBytes); ok {
		t.wholeBytes.Add(int64(onWire(channel, bytes)))
	}
}

// packetPayload is CometBFT's default for the payload of a packet, in bytes. onWire assumes this
// payload for every peer. This program sends larger and therefore fewer packets, so for its
// messages the result of onWire is too high, never too low.
const packetPayload = 1024

// onWire returns the size of a message on the wire, in bytes, if the peer sends it in packets of packetPayload.
func onWire(channel byte, bytes int) (total int) {
	packet := func(data int, last bool) int {
		inner := 0
		if channel != 0 {
			inner += 1 + varint(int(channel))
		}
		if last {
			inner += 2
		}
		if data > 0 {
			inner += 1 + varint(data) + data
		}
		outer := 1 + varint(inner) + inner
		return varint(outer) + outer
	}
	whole := max(0, bytes-1) / packetPayload
	return whole*packet(packetPayload, false) + packet(bytes-whole*packetPayload, true)
}

// varint returns the number of bytes of a number in protobuf.
func varint(x int) (n int) {
	for n = 1; x >= 1<<7; n++ {
		x >>= 7
	}
	return n
}

// minUnfinished returns a lower bound on the bytes of a peer's unfinished messages, and updates the
// peer's weight. received is the number of bytes received from the peer.
func (t *peerBytes) minUnfinished(received int64) int64 {
	finished, long := t.wholeBytes.Load(), t.lastWholeBytes[0]
	t.lastWholeBytes[0], t.lastWholeBytes[1] = t.lastWholeBytes[1], finished
	if most := received - long - t.credit; most < 0 { // wholeBytes overestimates the packet headers
		t.credit += most
	}
	least := max(0, received-finished-t.credit)
	if least <= toleratedUnfinished {
		t.weight = 0
	}
	t.weight += least
	return least
}

// peersOverLimit returns the peers to disconnect, so that the remaining peers are within the limit.
// It picks the peers of the largest weight, the sum of a peer's unfinished bytes over time.
func (u *unfinishedLimiter) peersOverLimit(peers []p2p.Peer) (end []p2p.Peer) {
	u.ticks++
	type load struct {
		peer   p2p.Peer
		bytes  int64
		weight int64
	}
	var loads []load
	total := int64(0)
	for _, p := range peers {
		t, ok := p.Get(peerBytesKey).(*peerBytes)
		if !ok {
			continue
		}
		if u.ticks%int64(time.Minute/unfinishedTick) == 0 {
			t.credit += 64 // more than enough for a minute's ping and pong, of 3 bytes each
		}
		bytes := t.minUnfinished(p.Status().RecvMonitor.Bytes)
		loads = append(loads, load{p, bytes, t.weight})
		total += bytes
	}
	slices.SortFunc(loads, func(a, b load) int { return int(min(max(b.weight-a.weight, -1), 1)) })
	for _, l := range loads {
		if total <= u.max {
			return end
		}
		end = append(end, l.peer)
		total -= l.bytes
	}
	return end
}

// Watch disconnects the peers that peersOverLimit returns, until quit is closed.
func (u *unfinishedLimiter) Watch(sw p2p.Switcher, logger log.Logger, quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-time.After(unfinishedTick): // not a ticker, because a ticker's next tick comes early after a late tick
		}
		end := u.peersOverLimit(sw.Peers().Copy())
		for _, peer := range end {
			logger.Error("peer disconnected", "peer", peer.ID(), "err", errUnfinished)
			sw.StopPeerForError(peer, errUnfinished)
		}
		if len(end) > 0 {
			runtime.GC() // frees the memory of the disconnected peers at once
		}
	}
}
