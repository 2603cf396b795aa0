package limit

import (
	"maps"
	"sync"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	cmtstate "github.com/cometbft/cometbft/proto/tendermint/statesync"
)

const (
	// maxRequests is the max number of unanswered requests of one peer. An honest syncing node has at
	// most 20, and disconnects from a peer that leaves a request unanswered.
	maxRequests = 64
	// readPause is the interval at which a node checks whether the last answer to a peer has left the send queue.
	readPause = time.Millisecond
	// askedKey is the prefix of the keys under which a peer's attributes hold the queues of the peer's
	// unanswered requests, one for each channel.
	askedKey = "spdl.asked."
	// maxOffers is the max number of snapshots that one peer may offer a syncing node in offerPeriod.
	// CometBFT tries the highest snapshot first and waits two minutes for a chunk, so a peer that
	// makes offers and sends no chunks could keep the node busy without end.
	maxOffers, offerPeriod = 2, 10 * time.Minute
)

// syncLimiter wraps CometBFT's reactor for blocks or for snapshots, and limits requests. A request of ten bytes has an
// answer of megabytes. CometBFT itself reads each answer from the disk at once, and holds up to a thousand answers in
// memory for a peer that does not read them. syncLimiter sends the next answer to a peer only after the last answer has
// left the node. All answers together take at most half of a core.
//
// If a syncing node has persistent peers, it accepts offers of snapshots only from them, because an
// attacker can run any number of other peers.
type syncLimiter struct {
	p2p.Reactor
	answerMu   *sync.Mutex            // held while an answer is prepared; the reactors for blocks and snapshots share it
	persistent func() map[p2p.ID]bool // the persistent peers
	gap        *BlockGap

	mu     sync.Mutex
	offers map[p2p.ID][]time.Time // the times of the offers in the last offerPeriod, oldest first
}

// SyncLimiter is a node option that wraps the reactors for blocks and snapshots in syncLimiters.
func SyncLimiter(persistent func() map[p2p.ID]bool, gap *BlockGap) cmtnode.Option {
	return func(n *cmtnode.Node) {
		turn := new(sync.Mutex)
		for _, name := range []string{"BLOCKSYNC", "STATESYNC"} {
			if r, ok := n.Switch().Reactor(name); ok {
				if name == "BLOCKSYNC" {
					gap.blocks = r
				}
				n.Switch().RemoveReactor(name, r)
				n.Switch().AddReactor(name, &syncLimiter{Reactor: r, answerMu: turn, persistent: persistent, gap: gap,
					offers: map[p2p.ID][]time.Time{}})
			}
		}
	}
}

// admitOffer reports whether a peer may offer one more snapshot.
func (s *syncLimiter) admitOffer(from p2p.ID, now time.Time) bool {
	if persistent := s.persistent(); len(persistent) > 0 && !persistent[from] {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.offers, func(_ p2p.ID, made []time.Time) bool { return now.Sub(made[len(made)-1]) >= offerPeriod })
	made := s.offers[from]
	if len(made) == maxOffers && now.Sub(made[0]) < offerPeriod {
		return false
	}
	s.offers[from] = append(made[max(0, len(made)+1-maxOffers):], now)
	return true
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (s *syncLimiter) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	if f, ok := s.Reactor.(p2p.MsgBytesFilter); ok {
		return f.FilterMsgBytes(channel, from, message)
	}
	return nil
}

// Receive implements p2p.Reactor. It is called by one goroutine for each peer.
func (s *syncLimiter) Receive(m p2p.Envelope) {
	switch message := m.Message.(type) {
	case *cmtsync.StatusResponse:
		s.gap.observe(m, message)
		return
	case *cmtsync.BlockRequest, *cmtstate.SnapshotsRequest, *cmtstate.ChunkRequest:
	case *cmtstate.SnapshotsResponse:
		if s.admitOffer(m.Src.ID(), time.Now()) {
			s.Reactor.Receive(m)
		}
		return
	default:
		s.Reactor.Receive(m)
		return
	}
	key := askedKey + string(m.ChannelID)
	asked, ok := m.Src.Get(key).(chan p2p.Envelope)
	if !ok {
		asked = make(chan p2p.Envelope, maxRequests)
		m.Src.Set(key, asked)
		go s.answerRequests(m.Src, asked)
	}
	select {
	case asked <- m:
	default: // the request is dropped: an honest node never has that many open requests
	}
}

// answerRequests answers the requests of a peer, one after the other, until the peer stops.
func (s *syncLimiter) answerRequests(to p2p.Peer, asked <-chan p2p.Envelope) {
	for {
		select {
		case <-to.Quit():
			return
		case m := <-asked:
			for isQueued(m) {
				select {
				case <-to.Quit():
					return
				case <-time.After(readPause):
				}
			}
			s.answerMu.Lock()
			began := time.Now()
			s.Reactor.Receive(m)
			time.Sleep(time.Since(began))
			s.answerMu.Unlock()
		}
	}
}

// isQueued reports whether the send queue for a peer still holds an answer.
func isQueued(m p2p.Envelope) bool {
	for _, c := range m.Src.Status().Channels {
		if c.ID == m.ChannelID {
			return c.SendQueueSize > 0
		}
	}
	return false
}
