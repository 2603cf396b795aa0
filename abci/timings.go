package abci

import (
	"sync"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Timing is one round on this node's clock, by the three stages of the paper:
// local gradient computation, from the round's opening to the arrival of this
// node's own gradient; gradient exchange, from there to the last gradient's
// arrival; blockchain consensus, from there to the commit. A stage that this
// node did not see whole is 0.
type Timing struct {
	Round uint64  `json:"round"`
	LGC   float64 `json:"t_lgc_ms"`
	GE    float64 `json:"t_ge_ms"`
	BC    float64 `json:"t_bc_ms"`
}

// keptTimings is how many rounds are remembered.
const keptTimings = 256

type moments struct{ opened, own, whole, closed time.Time }

// timings takes this node's wall clock of each round. Nothing of it reaches
// the state.
type timings struct {
	mu    sync.Mutex
	now   func() time.Time
	own   uint32
	found bool
	byRnd map[uint64]*moments
}

func newTimings(now func() time.Time) *timings {
	return &timings{now: now, byRnd: map[uint64]*moments{}}
}

// at returns the moments of a round; the caller holds the lock.
func (t *timings) at(round uint64) *moments {
	m := t.byRnd[round]
	if m == nil {
		m = &moments{}
		t.byRnd[round] = m
		if round >= keptTimings {
			delete(t.byRnd, round-keptTimings)
		}
	}
	return m
}

func (t *timings) opened(s *app.State, own uint32, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own, t.found = own, found
	if m := t.at(s.Progress.Round); m.opened.IsZero() {
		m.opened = t.now()
	}
}

func (t *timings) arrived(x *tx.Tx, v view) {
	g := x.Gradient
	if g == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.at(g.Round)
	now := t.now()
	if t.found && g.Participant == t.own && m.own.IsZero() {
		m.own = now
	}
	if v.whole() && v.state.Progress.Round == g.Round && m.whole.IsZero() {
		m.whole = now
	}
}

func (t *timings) closed(round uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(round).closed = t.now()
}

// get returns the timing of a closed round.
func (t *timings) get(round uint64) (Timing, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.byRnd[round]
	if !ok || m.closed.IsZero() {
		return Timing{}, false
	}
	own, whole := m.own, m.whole
	if whole.IsZero() { // closed without everybody, or by a block that was faster than the gossip
		whole = own
	}
	return Timing{Round: round, LGC: between(m.opened, own), GE: between(own, whole), BC: between(whole, m.closed)}, true
}

// between is the time from a to b in milliseconds, 0 where one is unknown or
// they stand the other way round: an early gradient comes before its round.
func between(a, b time.Time) float64 {
	if a.IsZero() || b.IsZero() || b.Before(a) {
		return 0
	}
	return float64(b.Sub(a).Microseconds()) / 1000
}
