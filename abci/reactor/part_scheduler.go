package reactor

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/consensus"
	cstypes "github.com/cometbft/cometbft/consensus/types"
	"github.com/cometbft/cometbft/p2p"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/types"
)

// schedulerKey is the key under which a peer keeps its partScheduler.
const schedulerKey = "spdl.follower"

// partScheduler wraps a peer for CometBFT's gossip of blocks. It defers the parts that other nodes
// should send, and sends them later if the peer may still lack them. All deferred parts belong to
// one block, which this node keeps in memory in any case.
type partScheduler struct {
	p2p.Peer
	relay *BlockRelay

	mu            sync.Mutex
	queue         []deferredPart
	armed         bool  // flush is scheduled
	hurriedHeight int64 // at this height only later, as returned by sendTime, defers a part
}

// deferredPart is a deferred part.
type deferredPart struct {
	message p2p.Envelope
	part    *cmtcons.BlockPart
	due     time.Time
	voted   bool // the peer had voted when the part was deferred, so a vote defers it no further
}

// votedPause is the minimum extra time that a part waits for a peer that has voted. Nearly all
// voters have the block, and say so when they see a majority for it. If a round takes long to
// transfer, a peer also takes long to store the block, and says nothing for that time:
// relay.votedPause adds for it.
const votedPause = time.Second

// Send implements p2p.Peer. It returns true for a deferred part, which CometBFT then counts as
// sent.
func (f *partScheduler) Send(m p2p.Envelope) bool {
	part, ok := m.Message.(*cmtcons.BlockPart)
	if !ok || !f.postpone(m, part) {
		return f.Peer.Send(m)
	}
	return true
}

// postpone reports whether it has deferred a part; otherwise the caller sends it. A peer that has
// voted either has the block or has given it up. The node therefore waits at least votedPause for
// other nodes to send it a part, even if this node got the block later than the peer.
func (f *partScheduler) postpone(m p2p.Envelope, part *cmtcons.BlockPart) bool {
	due, later := f.relay.sendTime(f.ID(), part)
	f.mu.Lock()
	defer f.mu.Unlock()
	there, voted := f.at(part)
	eager := f.hurriedHeight == part.Height
	if due.IsZero() || !there || eager && later == 0 {
		return false
	}
	p, now := deferredPart{message: m, part: part, due: due.Add(rand.N(relayPause / 2)), voted: voted}, time.Now()
	switch {
	case eager:
		p.due = now.Add(later)
	case voted:
		p.due = now.Add(f.relay.votedPause() + later)
	case !due.After(now):
		return false
	}
	if slices.ContainsFunc(f.queue, func(q deferredPart) bool {
		return partOf(q.part) == partOf(part) &&
			q.part.Height == part.Height
	}) {
		return true
	}
	f.queue = append(f.queue, p)
	f.arm()
	return true
}

// at reports whether the peer is at the part's height and round, and whether it has voted there.
func (f *partScheduler) at(p *cmtcons.BlockPart) (there, voted bool) {
	s, ok := f.Get(types.PeerStateKey).(*consensus.PeerState)
	if !ok {
		return false, false
	}
	at := s.GetRoundState()
	return at.Height == p.Height && at.Round == p.Round, at.Step >= cstypes.RoundStepPrevote
}

// arm schedules flush for the first due part; the caller holds the lock.
func (f *partScheduler) arm() {
	if f.armed || len(f.queue) == 0 {
		return
	}
	f.armed = true
	first := slices.MinFunc(f.queue, func(a, b deferredPart) int { return a.due.Compare(b.due) })
	time.AfterFunc(time.Until(first.due), f.flush)
}

// flush sends the due parts that the peer may need. CometBFT counts them as sent, so each stays
// until it is sent, the peer announces it, or the peer is at another height or round, where
// CometBFT starts over. A peer that has given the block up may still commit it, and does not always
// announce that.
func (f *partScheduler) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	var due []deferredPart
	f.queue = slices.DeleteFunc(f.queue, func(p deferredPart) bool {
		if p.due.After(now) {
			return false
		}
		due = append(due, p)
		return true
	})
	for _, p := range due {
		there, voted := f.at(p.part)
		switch {
		case !there:
			continue
		case voted && !p.voted && f.hurriedHeight != p.part.Height:
			p.voted, p.due = true, now.Add(f.relay.votedPause())
		default:
			f.mu.Unlock()
			sent := f.Peer.Send(p.message)
			f.mu.Lock()
			if sent || !f.IsRunning() {
				continue
			}
			p.due = time.Now().Add(behindPause)
		}
		f.queue = append(f.queue, p)
	}
	f.armed = false
	f.arm()
}

// flushHeight ends the pauses of further parts at a height at which the peer announces its parts,
// because the peer has seen a majority for the block. CometBFT then sends the missing parts. The
// deferred parts that the peer lacks still go out when they are due, because CometBFT may be
// marking one of them as sent at this moment, and may ignore the announcement if the rounds differ.
func (f *partScheduler) flushHeight(says *cmtcons.NewValidBlock) {
	has := says.BlockParts.GetElems()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hurriedHeight = says.Height
	f.queue = slices.DeleteFunc(f.queue, func(p deferredPart) bool {
		i := int(p.part.Part.Index)
		same := p.part.Height == says.Height && p.part.Round == says.Round // another round has another block
		return same && i/64 < len(has) && has[i/64]>>(i%64)&1 == 1
	})
}
