package reactor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
	cmttime "github.com/cometbft/cometbft/types/time"
	gogotypes "github.com/cosmos/gogoproto/types"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/query"
)

// clockChannel is the id of the channel for clocks. CometBFT does not use this id. Each node sends
// its time to its peers every clockInterval.
const (
	clockChannel  = byte(0x52)
	clockInterval = 30 * time.Second
)

// A node warns if its clock differs by more than clockBound from the median of its peers' clocks. A
// node that is a minute behind rejects the blocks of the other nodes, and halts (CometBFT v0.40.0).
const clockBound = 10 * time.Second

// minClocks is the min number of peers' clocks for a warning about this node's clock.
const minClocks = 3

// ClockReactor is the p2p reactor that compares clocks. Each node sends its time to its peers, when
// they connect and then every clockInterval. The reactor only sets a metric and warns the operator.
type ClockReactor struct {
	p2p.BaseReactor
	now       func() time.Time // the clock of CometBFT's votes
	metrics   *metrics.Metrics
	isTrusted func(p2p.ID) bool // whether a peer's clock counts; nil means that every clock counts

	mu       sync.Mutex
	offsets  map[p2p.ID]time.Duration // the clock of each peer minus this node's clock
	warnTime time.Time
}

func NewClockReactor(m *metrics.Metrics, trusts func(p2p.ID) bool) *ClockReactor {
	c := &ClockReactor{now: cmttime.Now, metrics: m, isTrusted: trusts, offsets: map[p2p.ID]time.Duration{}}
	c.BaseReactor = *p2p.NewBaseReactor("Clock", c)
	return c
}

// GetChannels implements p2p.Reactor.
func (c *ClockReactor) GetChannels() []*p2p.ChannelDescriptor {
	return []*p2p.ChannelDescriptor{{
		ID: clockChannel, Priority: 1, SendQueueCapacity: 1, RecvMessageCapacity: 64, MessageType: &gogotypes.Timestamp{},
	}}
}

// OnStart implements service.Service.
func (c *ClockReactor) OnStart() error {
	go every(clockInterval, c.Quit(), func() { c.Switch.TryBroadcast(c.message()) })
	return nil
}

func (c *ClockReactor) message() p2p.Envelope {
	now := c.now()
	return p2p.Envelope{ChannelID: clockChannel, Message: &gogotypes.Timestamp{Seconds: now.Unix(),
		Nanos: int32(now.Nanosecond())}}
}

// AddPeer sends the time to a new peer.
func (c *ClockReactor) AddPeer(peer p2p.Peer) { peer.TrySend(c.message()) }

// RemovePeer drops the clock of a peer.
func (c *ClockReactor) RemovePeer(peer p2p.Peer, _ any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.offsets, peer.ID())
}

// Receive handles the time of a peer.
func (c *ClockReactor) Receive(m p2p.Envelope) {
	message, ok := m.Message.(*gogotypes.Timestamp)
	if !ok {
		c.Switch.StopPeerForError(m.Src, "a message that is no time on the clocks' channel")
		return
	}
	at, err := gogotypes.TimestampFromProto(message)
	if err != nil {
		c.Switch.StopPeerForError(m.Src, "a time that cannot be")
		return
	}
	c.onTime(m.Src.ID(), at)
}

// Offsets returns the clocks of the connected peers relative to this node's clock, ordered by node
// id. It leaves out strangers, because onTime ignores their clocks.
func (c *ClockReactor) Offsets() []query.PeerClock {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []query.PeerClock
	for _, id := range slices.Sorted(maps.Keys(c.offsets)) {
		all = append(all, query.PeerClock{NodeID: string(id), AheadMs: float64(c.offsets[id]) / float64(time.Millisecond)})
	}
	return all
}

// onTime records a peer's time. If the median of all clocks differs from this node's clock by more than clockBound,
// onTime warns, at most once a minute. With fewer than minClocks peers it does not warn, because a single false clock
// could move the median. It ignores strangers, because their number is unbounded.
func (c *ClockReactor) onTime(peer p2p.ID, at time.Time) {
	if c.isTrusted != nil && !c.isTrusted(peer) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.offsets[peer] = at.Sub(now)
	offsets := slices.Sorted(maps.Values(c.offsets))
	median := offsets[len(offsets)/2]
	if len(offsets)%2 == 0 { // the median is the middle value nearer to 0
		if low := offsets[len(offsets)/2-1]; low.Abs() < median.Abs() {
			median = low
		}
	}
	if len(offsets) < minClocks {
		median = 0
	}
	c.metrics.Set("clock_offset_seconds", -median.Seconds())
	if median.Abs() <= clockBound || now.Sub(c.warnTime) < time.Minute {
		return
	}
	c.warnTime = now
	how := "behind"
	if median < 0 {
		how = "ahead of"
	}
	c.Logger.Error(fmt.Sprintf("this host's clock is %v %s its peers': synchronise it (NTP); a minute behind, "+
		"the node halts", median.Abs().Round(time.Second), how),
		"peers", len(offsets), "bound", clockBound)
}
