package query

import (
	"sync"
	"time"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Timing is one round on this node's clock, by the three stages of the paper: local gradient
// computation, from the round's opening to the arrival of this node's own gradient, or commitment
// with commit-reveal; gradient exchange, from there to the arrival of the last required gradient,
// or of the first aggregate if the round closed without all of them: its leader had waited until
// then; blockchain consensus, from there to the commit. A stage that this node did not see in full
// is 0.
type Timing struct {
	Epoch uint64  `json:"epoch"`
	Round uint64  `json:"round"`
	LGC   float64 `json:"t_lgc_ms"`
	GE    float64 `json:"t_ge_ms"`
	BC    float64 `json:"t_bc_ms"`
}

// maxTimings is the number of rounds that are remembered.
const maxTimings = 256

type Moments struct {
	Opened, Own, whole, led, closed time.Time
	// OwnAt is the height that followed the last block when this node's own gradient arrived.
	// QuorumAt is that height when the gradient arrived that completed N-f. A field is 0 if this
	// node did not see the arrival.
	OwnAt, QuorumAt uint64
	// Slow says that this node's commitment came when the round could already go on without it.
	Slow bool
}

// Timings records when the stages of each round passed on this node's wall clock. None of it
// reaches the state.
type Timings struct {
	mu    sync.Mutex
	now   func() time.Time
	own   uint32
	found bool
	seen  map[params.RoundID]*Moments
	order []params.RoundID // as they came
}

func NewTimings(now func() time.Time) *Timings {
	return &Timings{now: now, seen: map[params.RoundID]*Moments{}}
}

// at returns the moments of a round; the caller holds the lock.
func (t *Timings) at(p params.RoundID) *Moments {
	m := t.seen[p]
	if m == nil {
		m = &Moments{}
		t.seen[p] = m
		if t.order = append(t.order, p); len(t.order) > maxTimings {
			delete(t.seen, t.order[0])
			t.order = t.order[1:]
		}
	}
	return m
}

func (t *Timings) Opened(s *app.State, own uint32, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found { // a participant keeps its index when its keys change
		t.own, t.found = own, true
	}
	if m := t.at(params.RoundID{Epoch: s.Progress.Epoch, Round: s.Progress.Round}); m.Opened.IsZero() {
		m.Opened = t.now()
	}
}

// Arrived records a transaction that was admitted to the pool; v is the pool with it.
func (t *Timings) Arrived(x *tx.Tx, v pool.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case x.Aggregate != nil:
		if m := t.at(params.RoundID{Epoch: x.Aggregate.Epoch, Round: x.Aggregate.Round}); m.led.IsZero() {
			m.led = t.now()
		}
	case x.Commit != nil:
		t.committed(x.Commit, v.State)
	case x.Gradient != nil:
		t.gradient(x.Gradient, v)
	}
}

// committed records the arrival of this node's own commitment, the hash of a computed gradient. The
// commitment ends the computation and begins the exchange. The caller holds the lock.
func (t *Timings) committed(c *tx.Commit, s *app.State) {
	m := t.at(params.RoundID{Epoch: c.Epoch, Round: c.Round})
	if !t.found || c.Participant != t.own || !m.Own.IsZero() {
		return
	}
	m.Own = t.now()
	m.Slow = s.Committing() && s.Height+1 >= s.Progress.Opened+s.Params.Election.QuorumBlocks
}

// gradient records a gradient, as this node's own and as the one that completed N-f or all. The
// caller holds the lock.
func (t *Timings) gradient(g *tx.Gradient, v pool.Snapshot) {
	now, next := t.now(), v.State.Height+1
	m := t.at(params.RoundID{Epoch: g.Epoch, Round: g.Round})
	if t.found && g.Participant == t.own && m.OwnAt == 0 {
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
	if m.whole.IsZero() && v.Complete() {
		m.whole = now
	}
}

// Closed records a closed round. If it closed short, without a required gradient, the aggregate
// ends the exchange, and a later gradient is no part of it.
func (t *Timings) Closed(r *app.Record, short bool) Moments {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.at(params.RoundID{Epoch: r.Epoch, Round: r.Round})
	m.closed = t.now()
	if short || m.whole.IsZero() {
		m.whole = m.led
	}
	return *m
}

// Get returns the timing of a closed round.
func (t *Timings) Get(epoch, round uint64) (Timing, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.seen[params.RoundID{Epoch: epoch, Round: round}]
	if !ok || m.closed.IsZero() {
		return Timing{}, false
	}
	own, whole := m.Own, m.whole
	if whole.IsZero() { // the block that closed the round was faster than the gossip
		whole = own
	}
	return Timing{Epoch: epoch, Round: round, LGC: Milliseconds(m.Opened, own), GE: Milliseconds(own, whole),
		BC: Milliseconds(whole, m.closed)}, true
}

// Milliseconds returns the time from a to b in milliseconds, 0 if one is unknown or b is before a:
// an early gradient arrives before its round opens.
func Milliseconds(a, b time.Time) float64 {
	if a.IsZero() || b.IsZero() || b.Before(a) {
		return 0
	}
	return float64(b.Sub(a).Microseconds()) / 1000
}
