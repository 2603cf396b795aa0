package node

import (
	"sync"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	cmtstate "github.com/cometbft/cometbft/proto/tendermint/statesync"
)

const (
	// maxAsked is how many questions of a peer wait. A node that syncs has at most 20 open, and drops a
	// peer that leaves one of them unanswered.
	maxAsked = 64
	// readPause is how often it is looked whether a peer has read the last answer.
	readPause = time.Millisecond
	// askedKey is where a peer keeps what it has asked for.
	askedKey = "spdl.asked."
)

// serving is CometBFT's reactor of blocks, or of snapshots, behind a bound on what peers ask of it. A
// question of ten bytes has an answer of megabytes. CometBFT reads it from the disk at once, as often as
// it is asked, and holds a thousand of blocks in memory for a peer that reads none. Here a peer is given
// the next one when the last has left for it, and all answers together take at most half of a core.
type serving struct {
	p2p.Reactor
	turn *sync.Mutex // of all reactors
}

// served is a node's option that puts its reactors of blocks and snapshots behind the bound.
func served(n *cmtnode.Node) {
	turn := new(sync.Mutex)
	for _, name := range []string{"BLOCKSYNC", "STATESYNC"} {
		if r, ok := n.Switch().Reactor(name); ok {
			n.Switch().RemoveReactor(name, r)
			n.Switch().AddReactor(name, &serving{r, turn})
		}
	}
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (s *serving) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	if f, ok := s.Reactor.(p2p.MsgBytesFilter); ok {
		return f.FilterMsgBytes(channel, from, message)
	}
	return nil
}

// Receive implements p2p.Reactor. It is called by one goroutine for each peer.
func (s *serving) Receive(m p2p.Envelope) {
	switch m.Message.(type) {
	case *cmtsync.BlockRequest, *cmtstate.SnapshotsRequest, *cmtstate.ChunkRequest:
	default:
		s.Reactor.Receive(m)
		return
	}
	key := askedKey + string(m.ChannelID)
	asked, ok := m.Src.Get(key).(chan p2p.Envelope)
	if !ok {
		asked = make(chan p2p.Envelope, maxAsked)
		m.Src.Set(key, asked)
		go s.answer(m.Src, asked)
	}
	select {
	case asked <- m:
	default: // no honest node has so many open
	}
}

// answer answers a peer until it is gone.
func (s *serving) answer(to p2p.Peer, asked <-chan p2p.Envelope) {
	for {
		select {
		case <-to.Quit():
			return
		case m := <-asked:
			for unread(m) {
				select {
				case <-to.Quit():
					return
				case <-time.After(readPause):
				}
			}
			s.turn.Lock()
			began := time.Now()
			s.Reactor.Receive(m)
			time.Sleep(time.Since(began))
			s.turn.Unlock()
		}
	}
}

// unread reports whether an answer waits to be sent to who asks.
func unread(m p2p.Envelope) bool {
	for _, c := range m.Src.Status().Channels {
		if c.ID == m.ChannelID {
			return c.SendQueueSize > 0
		}
	}
	return false
}
