package abci

import (
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// drafts caches the drafts and errors of app.State.Leading for the current pool, by participant,
// because any client may query any participant's. The rule runs once per state and set of
// gradients, whichever participant leads and however often the rest of the pool changes.
type drafts struct {
	mu    sync.Mutex
	of    <-chan struct{} // the pool's changed channel, a new one after every change
	held  map[uint32]drafted
	state *app.State    // the state of last
	last  *tx.Aggregate // nil at first
}

type drafted struct {
	draft *tx.Aggregate
	err   error
}

// lead returns a participant's draft over a snapshot of the pool. It makes one draft at a time.
func (d *drafts) lead(v snapshot, participant uint32, made func()) (*tx.Aggregate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != v.changed {
		d.of, d.held = v.changed, map[uint32]drafted{}
	}
	// All unregistered indices share one cache entry, so that queries cannot grow the cache.
	participant = min(participant, uint32(len(v.state.Participants)))
	if was, ok := d.held[participant]; ok {
		return was.draft, was.err
	}
	draft, included, err := v.state.Leading(v.state.Height+1, participant, v.pending)
	if err == nil {
		err = d.fill(v.state, draft, included, made)
	}
	if err != nil {
		draft = nil
	}
	d.held[participant] = drafted{draft, err}
	return draft, err
}

// fill sets a draft's Delta.
func (d *drafts) fill(s *app.State, draft *tx.Aggregate, included []*tx.Tx, made func()) error {
	if d.state == s && tx.SameIncluded(d.last.Included, draft.Included) {
		draft.Delta, draft.Digest = d.last.Delta, d.last.Digest
		return nil
	}
	if err := s.Fill(draft, included); err != nil {
		return err
	}
	made()
	d.state, d.last = s, draft
	return nil
}
