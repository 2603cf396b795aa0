package pool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

var (
	ErrDuplicate = errors.New("transaction is in the pool already")
	ErrOccupied  = errors.New("another transaction of the sender is in the pool")
	ErrFull      = errors.New("pool is full")
	ErrTooLarge  = errors.New("transaction is too large for the pool")
)

// slot is the place of one pending transaction. A participant has one slot for a gradient and one
// for a commitment in each round, and one for an aggregate in each view of a round. A sender has
// one slot for an operation of each kind and subject.
type slot struct {
	tx.Place
	subject string // the subject of an operation
}

// ofRound reports whether the slot is for a gradient, an aggregate or a commitment.
func (s slot) ofRound() bool {
	return s.Kind == tx.KindGradient || s.Kind == tx.KindAggregate || s.Kind == tx.KindCommit
}

// slotOf returns the slot of a transaction.
func slotOf(t *tx.Tx) slot {
	if place, ok := tx.PlaceOf(t); ok {
		return slot{Place: place}
	}
	participant, subject := app.SubjectOf(t)
	return slot{tx.Place{Kind: t.Kind(), Participant: participant}, subject}
}

const (
	// maxPending is the max number of pending operations of one kind from one sender; all outsiders count as one sender.
	// It equals the max number of operations in a block. A limit of one operation for each subject would not be enough,
	// because a participant can make up any number of Joins and approve each of them.
	maxPending = 64
	// maxOperationBytes bounds the bytes of an operation. The largest valid operation starts an
	// epoch with an external model of 32 KiB and a ledger. Without the bound, approvals that are
	// padded to the size of a block would crowd out gradients.
	maxOperationBytes = 40 << 10
)

// Pool holds the transactions that wait for a block. Its memory is bounded by the number of slots,
// which only admitted senders can fill, and by the number of bytes. The pool admits a transaction
// if the latest committed state admits it, its slot is empty and no limit is exceeded.
type Pool struct {
	mu          sync.Mutex
	state       *app.State
	slots       map[slot]*tx.Tx
	byHash      map[[32]byte]*tx.Tx     // the transactions in the slots, by hash
	bySignature map[signatureKey]*tx.Tx // the latest transaction with each signature
	order       []slot                  // the slots in order of arrival
	// pending and operations are the transactions for snapshots, in order of arrival, and senders are the participants
	// that Snapshot.Senders lists. The pool only appends to these slices, so that snapshots share their memory.
	pending, operations []*tx.Tx
	senders             []uint32
	bytes               int64              // the total size of the transactions in the slots
	limit               int64              // the max value of bytes; 0 means no limit
	rejected            map[slot]Aggregate // the open round's aggregates that failed execution
	lastGrowth          time.Time          // the time when the last gradient or commitment arrived
	observer            observer
	now                 func() time.Time
	joins, checkedJoins joinLimits    // one for Add and one for Check
	changed             chan struct{} // closed and replaced at every change of the pool
}

func New(state *app.State, limit int64, wait Patience, now func() time.Time) *Pool {
	p := &Pool{state: state, slots: map[slot]*tx.Tx{}, byHash: map[[32]byte]*tx.Tx{},
		bySignature: map[signatureKey]*tx.Tx{}, limit: limit, now: now, rejected: map[slot]Aggregate{},
		joins:        joinLimits{now: now, of: map[tx.Place]*rate.Limiter{}},
		checkedJoins: joinLimits{now: now, of: map[tx.Place]*rate.Limiter{}}, changed: make(chan struct{})}
	p.exposeAll()
	p.observer = observer{patience: wait, now: now}
	p.observer.begin(state)
	return p
}

// Add admits a transaction, or returns the reason for the rejection. If the transaction contradicts
// another transaction that is or was in the pool, Add also returns the proof of the equivocation.
func (p *Pool) Add(t *tx.Tx) (proof *tx.Tx, err error) {
	at := slotOf(t)
	p.mu.Lock()
	// before is the transaction in the slot, or the aggregate that was dropped from it because its execution failed
	state, before, err := p.state, cmp.Or(p.slots[at], p.rejected[at].Tx), p.checkVacant(at, t)
	p.mu.Unlock()
	if errors.Is(err, ErrOccupied) && before != nil && at.ofRound() {
		return p.conflict(state, before, t), err
	}
	if err != nil {
		return nil, err
	}
	if err := p.joins.check(state, t); err != nil {
		return nil, err
	}
	// Signatures are verified outside of the lock. If the state has changed after the verification,
	// the transaction is checked again under the lock.
	if err := state.Admit(t); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkVacant(at, t); err != nil {
		return nil, err
	}
	if p.state != state {
		if err := p.state.Admit(t); err != nil {
			return nil, err
		}
	}
	p.slots[at], p.byHash[t.Hash], p.bySignature[keyOf(t.Raw)] = t, t, t
	p.order = append(p.order, at)
	p.expose(at)
	p.bytes += int64(len(t.Raw))
	if t.Gradient != nil || t.Commit != nil {
		p.lastGrowth = p.now()
	}
	if a := t.Aggregate; a != nil {
		if _, ok := p.observer.led[a.View]; !ok {
			p.observer.led[a.View] = p.now()
		}
	}
	p.observer.look(p.snapshot())
	p.notify()
	return nil, nil
}

// Check returns the error with which Add would reject a transaction. It does not add the transaction.
func (p *Pool) Check(t *tx.Tx) error {
	p.mu.Lock()
	state, err := p.state, p.checkVacant(slotOf(t), t)
	p.mu.Unlock()
	if err == nil {
		err = p.checkedJoins.check(state, t)
	}
	if err != nil {
		return err
	}
	return state.Admit(t)
}

// CommittedState returns the latest committed state.
func (p *Pool) CommittedState() *app.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *Pool) conflict(s *app.State, before, t *tx.Tx) *tx.Tx {
	if before.Content == t.Content {
		return nil
	}
	proof, err := tx.NewEvidence(before, t)
	if err != nil || s.Admit(proof) != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots[slotOf(proof)] != nil {
		return nil
	}
	return proof
}

// checkVacant returns an error if the transaction's slot is filled, or if the transaction would
// exceed a limit of the pool.
func (p *Pool) checkVacant(at slot, t *tx.Tx) error {
	if held, ok := p.slots[at]; ok {
		if held.Hash == t.Hash {
			return ErrDuplicate
		}
		return fmt.Errorf("%w: %s of participant %d for round %d", ErrOccupied, t.Kind(), at.Participant, at.Round)
	}
	if earlier, ok := p.rejected[at]; ok {
		if earlier.Tx.Hash == t.Hash {
			return fmt.Errorf("aggregate %X was rejected before: %w", t.Hash[:8], earlier.Err)
		}
		return fmt.Errorf("%w: %s of participant %d for round %d, which was rejected", ErrOccupied, t.Kind(), at.Participant,
			at.Round)
	}
	if p.limit > 0 && p.bytes+int64(len(t.Raw)) > p.limit {
		return fmt.Errorf("%w: %d bytes held, %d more, at most %d", ErrFull, p.bytes, len(t.Raw), p.limit)
	}
	if at.ofRound() {
		return nil
	}
	if n := len(t.Raw); n > maxOperationBytes {
		return fmt.Errorf("%w: %s of %d bytes, at most %d", ErrTooLarge, t.Kind(), n, maxOperationBytes)
	}
	if n := p.count(at); n >= maxPending {
		return fmt.Errorf("%w: %d %s operations of one sender held, at most %d", ErrFull, n, at.Kind, maxPending)
	}
	return nil
}

// count returns the number of filled slots that have the same kind and the same participant as the slot like.
func (p *Pool) count(like slot) int {
	n := 0
	for held := range p.slots {
		if held.Kind == like.Kind && held.Participant == like.Participant {
			n++
		}
	}
	return n
}

// Decode decodes a block's transactions. For a pending transaction it returns the pool's copy,
// which is already decoded and verified.
func (p *Pool) Decode(raws [][]byte) ([]*tx.Tx, error) {
	txs := make([]*tx.Tx, len(raws))
	for i, raw := range raws {
		if t := p.FindRaw(raw); t != nil {
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

// Find returns the pending transaction that has the given hash, or nil. The pool may be nil.
func (p *Pool) Find(hash [32]byte) *tx.Tx {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byHash[hash]
}

// admitCost is the approximate cost of verifying a transaction's signature and VRF proof, in integer additions.
const admitCost = 1 << 16

// Advance moves the pool to a committed state and drops stale transactions. After an empty block no transaction is
// stale. After any other block Advance checks the operations again. It checks gradients, commitments and aggregates
// again only if the block closed the round, ended the commit phase or changed a participant. A change of a participant
// matters because, for example, a gradient that is signed with a former key makes its aggregate invalid. record is that
// of the round that the block closed, nil if it closed none.
func (p *Pool) Advance(s *app.State, record *app.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.observer.look(p.snapshot()) }()
	from := p.state
	closed := from.Progress.Epoch != s.Progress.Epoch || from.Progress.Round != s.Progress.Round
	moved := closed || from.Progress.Revealing != s.Progress.Revealing || !slices.EqualFunc(from.Participants,
		s.Participants, sameStanding)
	p.state = s
	if closed {
		clear(p.rejected)
		p.observer.close(from, record)
		p.observer.begin(s)
	} else if from.Progress.Revealing != s.Progress.Revealing {
		p.observer.end(from)
		p.observer.begin(s)
	}
	if from.Hash() == s.Hash() { // the block was empty
		p.notify()
		return
	}
	stays := make([]bool, len(p.order))
	gradients.InParallel(len(p.order), admitCost, func(i int) {
		at := p.order[i]
		stays[i] = at.ofRound() && !moved || s.Admit(p.slots[at]) == nil
	})
	kept := p.order[:0]
	for i, at := range p.order {
		if stays[i] {
			kept = append(kept, at)
			continue
		}
		p.drop(at)
	}
	p.order = kept
	p.exposeAll()
	p.notify()
}

// sameStanding reports whether the rules on gradients and aggregates treat p and q alike. p and q
// are the same participant in two states.
func sameStanding(p, q app.Participant) bool {
	return p.Active == q.Active && p.Reputation == q.Reputation && bytes.Equal(p.PubKey, q.PubKey) &&
		bytes.Equal(p.VrfKey, q.VrfKey)
}

// Aggregate is an aggregate of the open round that this node has seen. Err is the reason why a
// block with the aggregate would be invalid, nil if this node knows no reason.
type Aggregate struct {
	Tx  *tx.Tx
	Err error
}

// Aggregates returns the open round's aggregates that are or were in the pool.
func (p *Pool) Aggregates() []Aggregate {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Collect(maps.Values(p.rejected))
	for _, t := range p.pending {
		if t.Aggregate != nil {
			out = append(out, Aggregate{Tx: t})
		}
	}
	return out
}

// Reject drops an aggregate whose execution failed with err. The pool does not admit the aggregate
// again while its round is open.
func (p *Pool) Reject(t *tx.Tx, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slotOf(t)
	p.rejected[at] = Aggregate{t, err}
	if held, ok := p.slots[at]; ok && held.Hash == t.Hash {
		p.drop(at)
		p.order = slices.DeleteFunc(p.order, func(s slot) bool { return s == at })
		p.exposeAll()
	}
}

// drop empties the slot at.
func (p *Pool) drop(at slot) {
	t := p.slots[at]
	p.bytes -= int64(len(t.Raw))
	delete(p.slots, at)
	delete(p.byHash, t.Hash)
	if e := keyOf(t.Raw); p.bySignature[e] == t {
		delete(p.bySignature, e)
	}
}

// notify wakes all callers that wait for a change of the pool.
func (p *Pool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Txs returns the pool's transactions in the order of their arrival. The pool may be nil.
func (p *Pool) Txs() []*tx.Tx {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	txs := make([]*tx.Tx, len(p.order))
	for i, at := range p.order {
		txs[i] = p.slots[at]
	}
	return txs
}

// Size returns the number of the pool's transactions and the number of their bytes.
func (p *Pool) Size() (transactions int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.slots), p.bytes
}
