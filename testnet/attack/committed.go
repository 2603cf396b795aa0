package attack

import (
	"context"
	"sync/atomic"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// withholding is a participant that commits to its gradients and reveals none of them.
type withholding struct{ worker.Chain }

// Submit drops gradients.
func (w withholding) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil {
		return nil
	}
	return w.Chain.Submit(ctx, t)
}

// committedLate is a participant that commits to a gradient only after the other participants'
// commitments to that round are in a block.
type committedLate struct {
	worker.Chain
	late *atomic.Uint64 // 1 + the last round whose commit phase ended without a commitment
}

// Await records the round whose commit phase ended without the participant's commitment.
func (c committedLate) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := c.Chain.Await(ctx, pub, last)
	if err == nil && task.Phase == worker.Missed {
		c.late.Store(task.Round + 1)
	}
	return task, err
}

// Submit drops a commitment that the chain would still accept.
func (c committedLate) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Commit != nil && c.late.Load() != t.Commit.Round+1 {
		return nil
	}
	return c.Chain.Submit(ctx, t)
}

// committedTwice is a participant that commits to two gradients a round.
type committedTwice struct {
	worker.Chain
	keys worker.Keys
}

// Submit sends a commitment, and then a second one to the hash of the first transaction.
func (c committedTwice) Submit(ctx context.Context, t *tx.Tx) error {
	err := c.Chain.Submit(ctx, t)
	if t.Commit == nil || err != nil {
		return err
	}
	other := *t.Commit
	other.Hash = t.Hash[:]
	return sendSecond(ctx, c.Chain, c.keys, &other)
}
