package pool

import (
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Drafts caches the drafts and errors of app.State.DraftIncluded for the current pool, by
// participant, because any client may query the draft of any participant. The rule runs once per
// state and set of gradients, whichever participant leads and however often other transactions
// change the pool.
type Drafts struct {
	mu    sync.Mutex
	of    <-chan struct{} // the pool's changed channel, a new one after every change
	held  map[uint32]cachedDraft
	state *app.State    // the state of last
	last  *tx.Aggregate // nil at first
}

type cachedDraft struct {
	draft *tx.Aggregate
	err   error
}

// Draft returns a participant's draft over a snapshot of the pool. It makes one draft at a time.
func (d *Drafts) Draft(v Snapshot, participant uint32, made func()) (*tx.Aggregate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != v.Changed {
		d.of, d.held = v.Changed, map[uint32]cachedDraft{}
	}
	// All unregistered indices share one cache entry, so that queries cannot grow the cache.
	participant = min(participant, uint32(len(v.State.Participants)))
	if was, ok := d.held[participant]; ok {
		return was.draft, was.err
	}
	draft, included, err := v.State.DraftIncluded(v.State.Height+1, participant, v.Pending)
	if err == nil {
		err = d.setDelta(v.State, draft, included, made)
	}
	if err != nil {
		draft = nil
	}
	d.held[participant] = cachedDraft{draft, err}
	return draft, err
}

// setDelta sets a draft's Delta.
func (d *Drafts) setDelta(s *app.State, draft *tx.Aggregate, included []*tx.Tx, made func()) error {
	if d.state == s && tx.SameIncluded(d.last.Included, draft.Included) {
		draft.Delta, draft.Digest = d.last.Delta, d.last.Digest
		return nil
	}
	if err := s.SetDelta(draft, included); err != nil {
		return err
	}
	made()
	d.state, d.last = s, draft
	return nil
}
