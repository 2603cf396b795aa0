package attack

import (
	"context"
	"sync/atomic"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// withholding commits to its gradients and reveals none of them.
type withholding struct{ worker.Chain }

// Submit drops gradients.
func (w withholding) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil {
		return nil
	}
	return w.Chain.Submit(ctx, t)
}

// committedLate commits to a gradient only after its round has taken the other participants'
// commitments.
type committedLate struct {
	worker.Chain
	late *atomic.Uint64 // 1 + the last round for which it was too late
}

// Await records the round for which it is too late.
func (c committedLate) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := c.Chain.Await(ctx, pub, last)
	if err == nil && task.Phase == worker.Missed {
		c.late.Store(task.Round + 1)
	}
	return task, err
}

// Submit drops commitments that would be in time.
func (c committedLate) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Commit != nil && c.late.Load() != t.Commit.Round+1 {
		return nil
	}
	return c.Chain.Submit(ctx, t)
}

// committedTwice commits to two gradients a round.
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
	task, err := c.Await(ctx, c.keys.Public(), nil)
	if err != nil {
		return err
	}
	other := *t.Commit
	other.Hash = t.Hash[:]
	second, err := tx.Sign(task.ChainID, &other, c.keys.Signing)
	if err != nil {
		return err
	}
	_ = c.Chain.Submit(ctx, second) // rejected, and so noticed
	return nil
}
