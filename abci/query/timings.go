package query

import (
	"sync"
	"time"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/memo"
)

// Timing holds the durations of the three stages of a round, as in the paper, on this node's clock.
// A stage that this node did not observe in full is 0.
//
//   - Local gradient computation lasts from the opening of the round to the arrival of this node's
//     own gradient (with commit-reveal, of its own commitment).
//   - Gradient exchange lasts from that arrival to the arrival of the last required gradient. If
//     the round closed without a required gradient, the exchange lasts to the arrival of the first
//     aggregate, because its leader waited until then.
//   - Blockchain consensus lasts from the end of the exchange to the commit.
type Timing struct {
	Epoch uint64  `json:"epoch"`
	Round uint64  `json:"round"`
	LGC   float64 `json:"t_lgc_ms"`
	GE    float64 `json:"t_ge_ms"`
	BC    float64 `json:"t_bc_ms"`
}

// maxTimings is the number of rounds whose timings are remembered.
const maxTimings = 256

// Moments are the times at which this node observed the events of one round, zero for an event that
// it did not observe. Opened is the opening of the round, and Own the arrival of this node's own
// gradient or, with commit-reveal, commitment. wholeTime is the arrival of the last required
// gradient, leadTime the arrival of the first aggregate, and closeTime the close of the round.
type Moments struct {
	Opened, Own, wholeTime, leadTime, closeTime time.Time
	// OwnAt is the next height when this node's own gradient arrived. QuorumAt is the next height
	// when N-f gradients had arrived. Either is 0 if this node did not observe the arrival.
	OwnAt, QuorumAt uint64
	// Slow is true if this node's commitment arrived when the commit phase could already end without that commitment.
	Slow bool
}

// Timings records when the stages of each round ended on this node's wall clock. It does not affect the state.
type Timings struct {
	mu       sync.Mutex
	now      func() time.Time
	ownIndex uint32
	hasOwn   bool
	byRound  *memo.LRU[params.RoundID, *Moments]
}

func NewTimings(now func() time.Time) *Timings {
	return &Timings{now: now, byRound: memo.NewLRU[params.RoundID, *Moments](maxTimings, nil)}
}

// moments returns the moments of a round, and adds the round if it is new. The caller holds the lock.
func (t *Timings) moments(p params.RoundID) *Moments {
	m, ok := t.byRound.Peek(p)
	if !ok {
		m = &Moments{}
		t.byRound.Add(p, m)
	}
	return m
}

// RecordOpening records that the round of the state s is open. own is the index of this node's
// participant; if found is false, own is ignored.
func (t *Timings) RecordOpening(s *app.State, own uint32, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found { // a participant keeps its index when its keys change
		t.ownIndex, t.hasOwn = own, true
	}
	if m := t.moments(params.RoundID{Epoch: s.Progress.Epoch, Round: s.Progress.Round}); m.Opened.IsZero() {
		m.Opened = t.now()
	}
}

// Arrived records the transaction x, which the pool admitted. v is a snapshot of the pool with x.
func (t *Timings) Arrived(x *tx.Tx, v pool.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case x.Aggregate != nil:
		if m := t.moments(params.RoundID{Epoch: x.Aggregate.Epoch, Round: x.Aggregate.Round}); m.leadTime.IsZero() {
			m.leadTime = t.now()
		}
	case x.Commit != nil:
		t.recordCommitment(x.Commit, v.State)
	case x.Gradient != nil:
		t.recordGradient(x.Gradient, v)
	}
}

// recordCommitment records the arrival of this node's own commitment. A commitment is the hash of a computed gradient,
// so its arrival ends the computation and begins the exchange. The caller holds the lock.
func (t *Timings) recordCommitment(c *tx.Commit, s *app.State) {
	m := t.moments(params.RoundID{Epoch: c.Epoch, Round: c.Round})
	if !t.hasOwn || c.Participant != t.ownIndex || !m.Own.IsZero() {
		return
	}
	m.Own = t.now()
	m.Slow = s.Committing() && s.Height+1 >= s.Progress.Opened+s.Params.Election.QuorumBlocks
}

// recordGradient records the arrival of this node's own gradient, of the gradient that completes
// N-f gradients, and of the last required gradient. The caller holds the lock.
func (t *Timings) recordGradient(g *tx.Gradient, v pool.Snapshot) {
	now, next := t.now(), v.State.Height+1
	m := t.moments(params.RoundID{Epoch: g.Epoch, Round: g.Round})
	if t.hasOwn && g.Participant == t.ownIndex && m.OwnAt == 0 {
		if m.OwnAt = next; m.Own.IsZero() {
			m.Own = now
		}
	}
	if v.State.Progress.Epoch != g.Epoch || v.State.Progress.Round != g.Round || v.State.Committing() {
		return
	}
	if m.QuorumAt == 0 && v.HasQuorum() {
		m.QuorumAt = next
	}
	if m.wholeTime.IsZero() && v.Complete() {
		m.wholeTime = now
	}
}

// RecordClosing records that the round r closed. previous is the state before the block that closed r. If r closed
// without a required gradient, the aggregate ends the exchange, and later gradients do not count.
func (t *Timings) RecordClosing(previous *app.State, r *app.Record) Moments {
	present := make([]uint32, len(r.Contributions))
	for i, c := range r.Contributions {
		present[i] = c.Participant
	}
	isShort := previous.MissingRequired(present) > 0
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.moments(params.RoundID{Epoch: r.Epoch, Round: r.Round})
	m.closeTime = t.now()
	if isShort || m.wholeTime.IsZero() {
		m.wholeTime = m.leadTime
	}
	return *m
}

// Get returns the timing of a closed round. It returns false if the round is not closed or not remembered.
func (t *Timings) Get(epoch, round uint64) (Timing, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.byRound.Peek(params.RoundID{Epoch: epoch, Round: round})
	if !ok || m.closeTime.IsZero() {
		return Timing{}, false
	}
	own, whole := m.Own, m.wholeTime
	if whole.IsZero() { // the block with the round arrived before gossip delivered the gradients
		whole = own
	}
	return Timing{Epoch: epoch, Round: round, LGC: Milliseconds(m.Opened, own), GE: Milliseconds(own, whole),
		BC: Milliseconds(whole, m.closeTime)}, true
}

// Milliseconds returns the time from a to b in milliseconds. The result is 0 if a or b is unknown,
// or if b is before a, for example if a gradient arrives before its round opens.
func Milliseconds(a, b time.Time) float64 {
	if a.IsZero() || b.IsZero() || b.Before(a) {
		return 0
	}
	return float64(b.Sub(a).Microseconds()) / 1000
}
