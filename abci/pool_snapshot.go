package abci

import (
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// snapshot is a copy of the pool at one moment.
type snapshot struct {
	state      *app.State
	pending    []*tx.Tx        // of the open round, in order of arrival
	operations []*tx.Tx        // in order of arrival
	grown      time.Time       // when the last gradient or commitment came
	changed    <-chan struct{} // closed at the next change
}

// look returns a snapshot, with the transactions of the open round and the
// operations.
func (p *pool) look() snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return snapshot{
		state: p.state, grown: p.grown, changed: p.changed,
		pending: slices.Clip(p.pending), operations: slices.Clip(p.operations),
	}
}

// senders lists the participants with a pending gradient of the open round or, in the commit phase,
// with a commitment that is pending or in the state.
func (v snapshot) senders() []uint32 {
	var all []uint32
	committing := v.state.Committing()
	if committing {
		for _, c := range v.state.Progress.Commitments {
			all = append(all, c.Participant)
		}
	}
	for _, t := range v.pending {
		switch {
		case t.Gradient != nil && !committing:
			all = append(all, t.Gradient.Participant)
		case t.Commit != nil && committing && v.state.Commitment(t.Commit.Participant) == nil:
			all = append(all, t.Commit.Participant)
		}
	}
	return all
}

// holds reports whether an aggregate of the same leader and view is pending.
func (v snapshot) holds(a *tx.Aggregate) bool {
	for _, t := range v.pending {
		if b := t.Aggregate; b != nil && b.Leader == a.Leader && b.View == a.View {
			return true
		}
	}
	return false
}

// quorate reports whether N-f gradients, or N-f commitments in the commit phase, have arrived.
func (v snapshot) quorate() bool {
	least := v.state.Active() - v.state.F()
	return len(v.pending)+len(v.state.Progress.Commitments) >= least && len(v.senders()) >= least
}

// whole reports whether all required gradients, or commitments in the commit phase, have arrived.
func (v snapshot) whole() bool {
	return len(v.pending) >= v.state.Missing(nil) && v.state.Missing(v.senders()) == 0
}

// mayCloseShort reports whether the round may close at a height without some required gradients.
func (v snapshot) mayCloseShort(height int64) bool {
	return uint64(height) >= v.state.Progress.Opened+v.state.Params.Election.QuorumBlocks
}
