package pool

import (
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Drafts caches, for the current content of the pool, each participant's draft of an aggregate, or
// its error. It has the drafts of all participants, because any client may query any draft. It also
// caches the last Delta. So the rule runs only once for a state and a set of gradients, even if
// several participants may lead, and even if other transactions change the pool.
type Drafts struct {
	mu        sync.Mutex
	changed   <-chan struct{} // the channel Changed of the snapshot that the cached drafts were made from
	drafts    map[uint32]cachedDraft
	state     *app.State    // the state for which lastDraft was made
	lastDraft *tx.Aggregate // the latest draft for which the rule ran; nil before the first run
}

type cachedDraft struct {
	draft *tx.Aggregate
	err   error
}

// Draft returns a participant's draft of an aggregate from a snapshot of the pool, or the error of
// app.State.DraftIncluded or app.State.SetDelta. If it has run the rule, it calls onRun. Concurrent
// calls wait for each other.
func (d *Drafts) Draft(v Snapshot, participant uint32, onRun func()) (*tx.Aggregate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed != v.Changed {
		d.changed, d.drafts = v.Changed, map[uint32]cachedDraft{}
	}
	// All unregistered indices share one cache entry, so that queries cannot grow the cache.
	participant = min(participant, uint32(len(v.State.Participants)))
	if was, ok := d.drafts[participant]; ok {
		return was.draft, was.err
	}
	draft, included, err := v.State.DraftIncluded(v.State.Height+1, participant, v.Pending)
	if err == nil {
		err = d.setDelta(v.State, draft, included, onRun)
	}
	if err != nil {
		draft = nil
	}
	d.drafts[participant] = cachedDraft{draft, err}
	return draft, err
}

// setDelta sets a draft's Delta: the Delta of lastDraft if both drafts list the same gradients, and
// otherwise the result of the rule.
func (d *Drafts) setDelta(s *app.State, draft *tx.Aggregate, included []*tx.Tx, onRun func()) error {
	if d.state == s && tx.SameIncluded(d.lastDraft.Included, draft.Included) {
		draft.Delta, draft.Digest = d.lastDraft.Delta, d.lastDraft.Digest
		return nil
	}
	if err := s.SetDelta(draft, included); err != nil {
		return err
	}
	onRun()
	d.state, d.lastDraft = s, draft
	return nil
}
