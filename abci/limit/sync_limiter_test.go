package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/p2p/mock"
	cmtsync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	"github.com/stretchr/testify/require"
)

// reader is a peer with answers in its send queue.
type reader struct {
	*mock.Peer
	unread atomic.Int64
}

func (r *reader) Status() conn.ConnectionStatus {
	return conn.ConnectionStatus{Channels: []conn.ChannelStatus{{ID: blocksync.BlocksyncChannel,
		SendQueueSize: int(r.unread.Load())}}}
}

// answering is a reactor that puts an answer into the queue of the peer that asks.
type answering struct {
	p2p.Reactor
	mu      sync.Mutex
	answers map[p2p.ID][]int64
	others  int
}

func (a *answering) Receive(m p2p.Envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q, ok := m.Message.(*cmtsync.BlockRequest); ok {
		a.answers[m.Src.ID()] = append(a.answers[m.Src.ID()], q.Height)
		m.Src.(*reader).unread.Add(1)
		return
	}
	a.others++
}

func (a *answering) of(p p2p.Peer) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.answers[p.ID()])
}

// TestAnswersWaitForTheirReader: a peer that requests blocks and reads none gets one answer. Its
// requests beyond maxRequests are dropped. Another peer gets its answers in between, in order.
func TestAnswersWaitForTheirReader(t *testing.T) {
	inner := &answering{answers: map[p2p.ID][]int64{}}
	s := &syncLimiter{Reactor: inner, answerMu: new(sync.Mutex)}
	idle, reads := &reader{Peer: mock.NewPeer(nil)}, &reader{Peer: mock.NewPeer(nil)}
	ask := func(p p2p.Peer, height int64) {
		s.Receive(p2p.Envelope{Src: p, ChannelID: blocksync.BlocksyncChannel, Message: &cmtsync.BlockRequest{Height: height}})
	}
	for i := range int64(10 * maxRequests) {
		ask(idle, i)
	}
	for i := range int64(20) {
		ask(reads, i)
	}
	require.Eventually(t, func() bool { reads.unread.Store(0); return inner.of(reads) == 20 }, 10*time.Second,
		time.Millisecond)
	require.Equal(t, 1, inner.of(idle))
	require.IsIncreasing(t, inner.answers[reads.ID()])
	require.Eventually(t, func() bool { idle.unread.Store(0); return inner.of(idle) >= maxRequests }, 10*time.Second,
		time.Millisecond)
	time.Sleep(20 * readPause)
	require.LessOrEqual(t, inner.of(idle), maxRequests+2, "one was being answered, and one waited for its reader")
	s.Receive(p2p.Envelope{Src: idle, ChannelID: blocksync.BlocksyncChannel, Message: &cmtsync.StatusRequest{}})
	require.Equal(t, 1, inner.others, "at once")
	require.NoError(t, idle.Stop())
	require.NoError(t, reads.Stop())
}

// TestOffersOfSnapshotsAreBounded: each persistent peer of a node may offer two snapshots in ten
// minutes, even if it reconnects, and other peers none. A node without persistent peers accepts
// offers of all peers.
func TestOffersOfSnapshotsAreBounded(t *testing.T) {
	now := time.Now()
	persistent := map[p2p.ID]bool{"aa": true, "bb": true}
	s := &syncLimiter{persistent: func() map[p2p.ID]bool { return persistent }, offers: map[p2p.ID][]time.Time{}}
	for _, id := range []p2p.ID{"aa", "bb"} {
		require.True(t, s.admitOffer(id, now))
		require.True(t, s.admitOffer(id, now.Add(time.Minute)))
		require.False(t, s.admitOffer(id, now.Add(offerPeriod-1)))
		require.True(t, s.admitOffer(id, now.Add(offerPeriod)), "the first is of long ago")
		require.False(t, s.admitOffer(id, now.Add(offerPeriod)))
	}
	require.False(t, s.admitOffer("cc", now))
	clear(persistent)
	require.True(t, s.admitOffer("cc", now))
}
