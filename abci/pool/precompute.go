package pool

import (
	"sync"
	"sync/atomic"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/app"
)

// Precomputer runs the rule in the background when the last required gradient arrives, at most once for each committed
// state. So every node computes Delta while the leader makes and sends the aggregate. Drafting, proposing and verifying
// then reuse that Delta. Precomputer never affects which blocks are valid.
type Precomputer struct {
	Log       log.Logger
	lastState atomic.Pointer[app.State] // the state of the last run
	runs      sync.WaitGroup
}

// Run starts to compute the aggregate in the background if the snapshot v has all required
// gradients. It does nothing in the commit phase, or if it has already run for the state of v.
func (c *Precomputer) Run(v Snapshot) {
	if v.State.Committing() || !v.Complete() || c.lastState.Swap(v.State) == v.State {
		return
	}
	c.runs.Go(func() {
		defer func() {
			if r := recover(); r != nil { // a block with these gradients panics again at its execution, and is then rejected
				c.Log.Error("precomputing the aggregate failed", "err", r)
			}
		}()
		if err := v.State.Precompute(v.Pending); err != nil {
			c.Log.Info("the aggregate is not computed ahead: a block that needs it computes it", "err", err)
		}
	})
}

// Wait returns when the rule is not running.
func (c *Precomputer) Wait() { c.runs.Wait() }
