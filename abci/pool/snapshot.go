package pool

import (
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Snapshot is a copy of the pool's content at one moment.
type Snapshot struct {
	State      *app.State
	Pending    []*tx.Tx        // the open round's transactions, in order of arrival
	Operations []*tx.Tx        // the operations, in order of arrival
	LastGrowth time.Time       // the time when the last gradient or commitment arrived
	Changed    <-chan struct{} // closed at the pool's next change
	Observed   worker.Observed // what this node observed in the round before the open one

	senders []uint32 // what Senders returns
}

// Snapshot returns a snapshot of the open round's transactions and the operations.
func (p *Pool) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot()
}

// snapshot returns a snapshot. The caller holds the lock.
func (p *Pool) snapshot() Snapshot {
	return Snapshot{
		State: p.state, LastGrowth: p.lastGrowth, Changed: p.changed, Observed: p.observer.last,
		Pending: slices.Clip(p.pending), Operations: slices.Clip(p.operations), senders: slices.Clip(p.senders),
	}
}

// expose adds the transaction in the slot at to pending or operations, and its sender to senders.
// It ignores a transaction of the next round.
func (p *Pool) expose(at slot) {
	switch {
	case !at.ofRound():
		p.operations = append(p.operations, p.slots[at])
	case at.Epoch == p.state.Progress.Epoch && at.Round == p.state.Progress.Round:
		p.pending = append(p.pending, p.slots[at])
		if p.isAwaited(at) {
			p.senders = append(p.senders, at.Participant)
		}
	}
}

// isAwaited reports whether the open round waits for the transaction in the slot at. In the commit
// phase the round waits for commitments of participants that have no commitment in the state yet.
// In the reveal phase, and without commit_reveal, it waits for gradients.
func (p *Pool) isAwaited(at slot) bool {
	if p.state.Committing() {
		return at.Kind == tx.KindCommit && p.state.Commitment(at.Participant) == nil
	}
	return at.Kind == tx.KindGradient
}

// exposeAll rebuilds pending, operations and senders from the state and the slots.
func (p *Pool) exposeAll() {
	p.pending, p.operations, p.senders = nil, nil, nil
	if p.state.Committing() {
		for _, c := range p.state.Progress.Commitments {
			p.senders = append(p.senders, c.Participant)
		}
	}
	for _, at := range p.order {
		p.expose(at)
	}
}

// Senders lists the participants with a pending gradient for the open round. In the commit phase it lists the
// participants whose commitment is pending or in the state. The caller must not modify the slice.
func (v Snapshot) Senders() []uint32 { return v.senders }

// Holds reports whether the snapshot has an aggregate with the leader and the view of a.
func (v Snapshot) Holds(a *tx.Aggregate) bool {
	return slices.ContainsFunc(v.Pending, func(t *tx.Tx) bool {
		return t.Aggregate != nil && t.Aggregate.Leader == a.Leader && t.Aggregate.View == a.View
	})
}

// HasQuorum reports whether N-f gradients have arrived. In the commit phase it reports whether N-f
// commitments have arrived or are in the state.
func (v Snapshot) HasQuorum() bool { return len(v.senders) >= v.State.Active()-v.State.F() }

// Complete reports whether all required gradients have arrived. In the commit phase it reports
// whether all required commitments have arrived or are in the state.
func (v Snapshot) Complete() bool {
	return len(v.senders) >= v.State.MissingRequired(nil) && v.State.MissingRequired(v.senders) == 0
}

// MayCloseShort reports whether a block at the given height is allowed to close the round although
// required gradients are missing (A5).
func (v Snapshot) MayCloseShort(height int64) bool {
	return uint64(height) >= v.State.Progress.Opened+v.State.Params.Election.QuorumBlocks
}
