package node

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

// followerKey is where a peer keeps its follower.
const followerKey = "spdl.follower"

// follower is a peer as CometBFT's gossip of blocks sees it. It takes the parts that others are to
// send, and sends them later if the peer may lack them still. They are parts of one block that this
// node holds anyway.
type follower struct {
	p2p.Peer
	relay *relay

	mu    sync.Mutex
	queue []parked
	armed bool  // drain will run
	eager int64 // the height at which nothing waits
}

// parked is a part that waits.
type parked struct {
	message p2p.Envelope
	part    *cmtcons.BlockPart
	due     time.Time
	voted   bool // it waits once more
}

// votedPause is how long more a part waits for a peer that has voted, at the least: nearly all that
// vote have the block, and say so when they see a majority for it. Where a round takes long to
// carry, storing it does too, and the peer that has said nothing is at the same height meanwhile.
const votedPause = time.Second

// Send implements p2p.Peer. CometBFT takes the peer to have a part that waits.
func (f *follower) Send(m p2p.Envelope) bool {
	part, ok := m.Message.(*cmtcons.BlockPart)
	if !ok || !f.park(m, part) {
		return f.Peer.Send(m)
	}
	return true
}

// park keeps a part back, or reports that it is to be sent. Who votes has the block, or has given
// it up: a part that others are to send is left to them for votedPause at least, also by a node
// that has the block later than the peer.
func (f *follower) park(m p2p.Envelope, part *cmtcons.BlockPart) bool {
	due, later := f.relay.due(f.ID(), part)
	f.mu.Lock()
	defer f.mu.Unlock()
	there, voted := f.at(part)
	eager := f.eager == part.Height
	if due.IsZero() || !there || eager && later == 0 {
		return false
	}
	p, now := parked{message: m, part: part, due: due.Add(rand.N(relayPause / 2)), voted: voted}, time.Now()
	switch {
	case eager:
		p.due = now.Add(later)
	case voted:
		p.due = now.Add(f.relay.votedPause() + later)
	case !due.After(now):
		return false
	}
	if slices.ContainsFunc(f.queue, func(q parked) bool { return partOf(q.part) == partOf(part) && q.part.Height == part.Height }) {
		return true
	}
	f.queue = append(f.queue, p)
	f.arm()
	return true
}

// at returns whether the peer is at the part's height and round, and whether it has voted there.
func (f *follower) at(p *cmtcons.BlockPart) (there, voted bool) {
	s, ok := f.Get(types.PeerStateKey).(*consensus.PeerState)
	if !ok {
		return false, false
	}
	at := s.GetRoundState()
	return at.Height == p.Height && at.Round == p.Round, at.Step >= cstypes.RoundStepPrevote
}

// arm lets drain run when the first part is due; the caller holds the lock.
func (f *follower) arm() {
	if f.armed || len(f.queue) == 0 {
		return
	}
	f.armed = true
	first := slices.MinFunc(f.queue, func(a, b parked) int { return a.due.Compare(b.due) })
	time.AfterFunc(time.Until(first.due), f.drain)
}

// drain sends the parts that are due, and that the peer may need. CometBFT holds them for sent, so
// none is dropped before the peer is at another height or round, where CometBFT starts anew, or
// says that it has it. A peer that gave the block up may yet be about to commit it, and does not
// always say so.
func (f *follower) drain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	var due []parked
	f.queue = slices.DeleteFunc(f.queue, func(p parked) bool {
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
		case voted && !p.voted && f.eager != p.part.Height:
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

// hurry ends the waiting at a height at which the peer says which parts it has: it has seen a
// majority for the block. CometBFT then sends what it lacks. What waits is sent in time for all
// that: CometBFT may just then be noting it as sent, or not take the peer's word, because the
// rounds differ.
func (f *follower) hurry(says *cmtcons.NewValidBlock) {
	has := says.BlockParts.GetElems()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.eager = says.Height
	f.queue = slices.DeleteFunc(f.queue, func(p parked) bool {
		i := int(p.part.Part.Index)
		same := p.part.Height == says.Height && p.part.Round == says.Round // another round has another block
		return same && i/64 < len(has) && has[i/64]>>(i%64)&1 == 1
	})
}
