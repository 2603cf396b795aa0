package pool

import (
	"sync"
	"sync/atomic"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/app"
)

// Precomputer runs the rule in the background when the last required gradient arrives, at most once
// per committed state. Every node thereby computes Delta while the leader makes and sends the
// aggregate. Drafting, proposing and verifying then wait for that Delta or reuse it. It never
// affects a verdict.
type Precomputer struct {
	Log  log.Logger
	last atomic.Pointer[app.State] // the state of the last run
	runs sync.WaitGroup
}

// Run starts a run if a snapshot of the pool has all required gradients.
func (c *Precomputer) Run(v Snapshot) {
	if v.State.Committing() || !v.Complete() || c.last.Swap(v.State) == v.State {
		return
	}
	c.runs.Go(func() {
		defer func() {
			if r := recover(); r != nil { // executing a block with these gradients fails in the same way, and rejects it
				c.Log.Error("precomputing the aggregate failed", "err", r)
			}
		}()
		if err := v.State.Precompute(v.Pending); err != nil {
			c.Log.Error("precomputing the aggregate failed", "err", err)
		}
	})
}

// Wait returns when no run is under way.
func (c *Precomputer) Wait() { c.runs.Wait() }
