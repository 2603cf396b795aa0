package pool

import (
	"context"
	"errors"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// LocalChain is the worker.Chain of a worker that runs in the node's process.
type LocalChain struct {
	Ready <-chan struct{}                                 // closed once the application has a pool
	Pool  func() *Pool                                    // returns the pool, nil before Ready is closed
	Draft func(participant uint32) (*tx.Aggregate, error) // drafts an aggregate from the pool
	// StragglerWait is the interval at which Lead tries again while gradients are missing.
	StragglerWait time.Duration
	Send          func(ctx context.Context, raw []byte) error // submits a transaction to the node's mempool
}

// Await waits until the task of the participant with key pub differs from lastTask in the committed
// state, and returns the new task.
func (l LocalChain) Await(ctx context.Context, pub []byte, lastTask *worker.Task) (*worker.Task, error) {
	select {
	case <-l.Ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		v := l.Pool().Snapshot()
		s := v.State
		if worker.HasMoved(s, lastTask) {
			task, err := worker.NewTask(s, pub)
			if err == nil {
				task.Observed = v.Observed
			}
			return task, err
		}
		select {
		case <-v.Changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Lead waits until Draft succeeds. It tries again whenever the pool has changed, and after
// StragglerWait if Draft fails with app.ErrNotClosing.
func (l LocalChain) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		changed := l.Pool().Snapshot().Changed
		draft, err := l.Draft(participant)
		if err == nil {
			return draft, nil
		}
		var again <-chan time.Time
		if errors.Is(err, app.ErrNotClosing) {
			again = time.After(l.StragglerWait)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Submit submits the transaction to this node's mempool.
func (l LocalChain) Submit(ctx context.Context, t *tx.Tx) error {
	return l.Send(ctx, t.Raw)
}
