package abci

import (
	"sync"

	"github.com/spdl/spdl/app/tx"
)

// drafts keeps what Lead said of the pool as it stands, because any client may ask for it and it
// runs the rule: asking again costs nothing until the pool changes.
type drafts struct {
	mu   sync.Mutex
	of   <-chan struct{} // the pool's, which is another after every change
	held map[uint32]drafted
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
	// Everybody who is not registered has the same answer, and no place of its own in memory.
	participant = min(participant, uint32(len(v.state.Participants)))
	if was, ok := d.held[participant]; ok {
		return was.draft, was.err
	}
	draft, err := v.state.Lead(v.state.Height+1, participant, v.pending)
	if err == nil {
		made()
	}
	d.held[participant] = drafted{draft, err}
	return draft, err
}
