package abci

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

var (
	errDuplicate = errors.New("transaction is in the pool already")
	errOccupied  = errors.New("another transaction of the sender is in the pool")
	errPoolFull  = errors.New("pool is full")
)

// slot is where a pending transaction stands: one gradient a participant and
// round, one aggregate a participant, round and view.
type slot struct {
	kind        tx.Kind
	round       uint64
	participant uint32
	view        uint32
}

func slotOf(t *tx.Tx) slot {
	if a := t.Aggregate; a != nil {
		return slot{kind: t.Kind(), round: a.Round, participant: a.Leader, view: a.View}
	}
	return slot{kind: t.Kind(), round: t.Gradient.Round, participant: t.Gradient.Participant}
}

// pool holds the transactions that wait for their round to close. Its memory
// is bounded twice: by its slots, which only admitted senders can fill, and by
// bytes. It owns the notion of the latest committed state for admission.
type pool struct {
	mu      sync.Mutex
	state   *app.State
	slots   map[slot]*tx.Tx
	order   []slot // of arrival
	bytes   int64
	limit   int64
	refused map[[32]byte]struct{} // aggregates of the open round whose Delta turned out wrong
	grown   time.Time             // of the last gradient's arrival
	now     func() time.Time
	changed chan struct{} // closed and replaced at every change
}

func newPool(state *app.State, limit int64, now func() time.Time) *pool {
	return &pool{state: state, slots: map[slot]*tx.Tx{}, limit: limit, now: now, refused: map[[32]byte]struct{}{}, changed: make(chan struct{})}
}

// add admits a transaction. The cheap refusals come first.
func (p *pool) add(t *tx.Tx) error {
	at := slotOf(t)
	p.mu.Lock()
	state, err := p.state, p.vacant(at, t)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	// Signatures are checked outside the lock; the state may move meanwhile,
	// which at worst lets in what the next advance drops.
	if err := state.Admit(t); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.vacant(at, t); err != nil {
		return err
	}
	if p.state != state {
		if err := p.state.Admit(t); err != nil {
			return err
		}
	}
	p.slots[at] = t
	p.order = append(p.order, at)
	p.bytes += int64(len(t.Raw))
	if t.Gradient != nil {
		p.grown = p.now()
	}
	p.notify()
	return nil
}

func (p *pool) vacant(at slot, t *tx.Tx) error {
	if held, ok := p.slots[at]; ok {
		if held.Hash == t.Hash {
			return errDuplicate
		}
		return fmt.Errorf("%w: %s of participant %d for round %d", errOccupied, t.Kind(), at.participant, at.round)
	}
	if _, ok := p.refused[t.Hash]; ok {
		return fmt.Errorf("%w: aggregate %X", app.ErrTolerance, t.Hash[:8])
	}
	if p.limit > 0 && p.bytes+int64(len(t.Raw)) > p.limit {
		return fmt.Errorf("%w: %d bytes held, %d more, at most %d", errPoolFull, p.bytes, len(t.Raw), p.limit)
	}
	return nil
}

// decode decodes the transactions of a block. One that is pending is taken
// from the pool, where it was decoded and verified before.
func (p *pool) decode(raws [][]byte) ([]*tx.Tx, error) {
	p.mu.Lock()
	known := make(map[[32]byte]*tx.Tx, len(p.slots))
	for _, t := range p.slots {
		known[t.Hash] = t
	}
	p.mu.Unlock()
	txs := make([]*tx.Tx, len(raws))
	for i, raw := range raws {
		if t := known[sha256.Sum256(raw)]; t != nil {
			txs[i] = t
			continue
		}
		t, err := tx.Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("transaction %d: %w", i, err)
		}
		txs[i] = t
	}
	return txs, nil
}

// recheck tells whether a transaction that CometBFT still holds is of use.
func (p *pool) recheck(t *tx.Tx) error {
	p.mu.Lock()
	held, ok := p.slots[slotOf(t)]
	p.mu.Unlock()
	if ok && held.Hash == t.Hash {
		return nil
	}
	return p.add(t)
}

// advance moves the pool to a committed state and drops what is stale.
func (p *pool) advance(s *app.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	closed := p.state.Progress.Epoch != s.Progress.Epoch || p.state.Progress.Round != s.Progress.Round
	p.state = s
	if closed {
		clear(p.refused)
		kept := p.order[:0]
		for _, at := range p.order {
			if t := p.slots[at]; at.round < s.Progress.Round || s.Finished() {
				p.bytes -= int64(len(t.Raw))
				delete(p.slots, at)
			} else {
				kept = append(kept, at)
			}
		}
		p.order = kept
	}
	p.notify()
}

// refuse drops an aggregate that passed admission and failed execution, and
// keeps it out while its round is open.
func (p *pool) refuse(t *tx.Tx) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[t.Hash] = struct{}{}
	at := slotOf(t)
	if held, ok := p.slots[at]; ok && held.Hash == t.Hash {
		p.bytes -= int64(len(t.Raw))
		delete(p.slots, at)
		for i := range p.order {
			if p.order[i] == at {
				p.order = append(p.order[:i:i], p.order[i+1:]...)
				break
			}
		}
	}
}

func (p *pool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// view is a moment of the pool.
type view struct {
	state   *app.State
	pending []*tx.Tx        // of the open round, in order of arrival
	grown   time.Time       // when the last gradient came
	changed <-chan struct{} // closed at the next change
}

// look returns the pool as it stands, with the transactions of the open round.
func (p *pool) look() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := view{state: p.state, grown: p.grown, changed: p.changed}
	for _, at := range p.order {
		if at.round == p.state.Progress.Round {
			v.pending = append(v.pending, p.slots[at])
		}
	}
	return v
}

// gradients counts the gradients in view.
func (v view) gradients() int {
	n := 0
	for _, t := range v.pending {
		if t.Gradient != nil {
			n++
		}
	}
	return n
}

// holds tells whether the participant's aggregate of a view is pending.
func (v view) holds(a *tx.Aggregate) bool {
	for _, t := range v.pending {
		if b := t.Aggregate; b != nil && b.Leader == a.Leader && b.View == a.View {
			return true
		}
	}
	return false
}
