package attack

import (
	"context"
	"sync/atomic"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// withholding commits itself to its gradients and sends none of them.
type withholding struct{ worker.Chain }

// Submit drops gradients.
func (w withholding) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil {
		return nil
	}
	return w.Chain.Submit(ctx, t)
}

// committedLate commits itself to a gradient once the others have revealed theirs.
type committedLate struct {
	worker.Chain
	late *atomic.Uint64 // 1 more than the last round that it was too late for
}

// Await hears when it is too late.
func (c committedLate) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := c.Chain.Await(ctx, pub, last)
	if err == nil && task.Phase == worker.Missed {
		c.late.Store(task.Round + 1)
	}
	return task, err
}

// Submit drops the commitments that would come in time.
func (c committedLate) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Commit != nil && c.late.Load() != t.Commit.Round+1 {
		return nil
	}
	return c.Chain.Submit(ctx, t)
}

// committedTwice commits itself to two gradients a round.
type committedTwice struct {
	worker.Chain
	keys worker.Keys
}

// Submit sends a commitment, and then another one to a hash of it.
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
	_ = c.Chain.Submit(ctx, second) // refused, and so noticed
	return nil
}
