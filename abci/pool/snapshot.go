package pool

import (
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Snapshot is a copy of the pool's content at one moment.
type Snapshot struct {
	State      *app.State
	Pending    []*tx.Tx        // the open round's transactions, in order of arrival
	Operations []*tx.Tx        // the operations, in order of arrival
	LastGrowth time.Time       // the time when the last gradient or commitment arrived
	Changed    <-chan struct{} // closed at the pool's next change

	senders []uint32 // what Senders returns
}

// Snapshot returns a snapshot of the open round's transactions and the operations.
func (p *Pool) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Snapshot{
		State: p.state, LastGrowth: p.lastGrowth, Changed: p.changed,
		Pending: slices.Clip(p.pending), Operations: slices.Clip(p.operations), senders: slices.Clip(p.senders),
	}
}

// Senders lists the participants with a pending gradient for the open round. In the commit phase it
// lists the participants whose commitment is pending or in the state. The caller must not modify the
// slice.
func (v Snapshot) Senders() []uint32 { return v.senders }

// Holds reports whether the snapshot has an aggregate with the leader and the view of a.
func (v Snapshot) Holds(a *tx.Aggregate) bool {
	for _, t := range v.Pending {
		if b := t.Aggregate; b != nil && b.Leader == a.Leader && b.View == a.View {
			return true
		}
	}
	return false
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
