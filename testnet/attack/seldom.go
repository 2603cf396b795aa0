package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// every is the number of rounds of which a seldom participant takes part in one.
const every = 3

// seldom sends a gradient in one round of every, whether rounds wait for it or not, so that the
// others do wait as often as the chain allows.
type seldom struct{ worker.Chain }

// Await returns a round that its worker takes for one that waits.
func (s seldom) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := s.Chain.Await(ctx, pub, last)
	if task != nil {
		task.Unawaited = false
	}
	return task, err
}

// Submit drops the gradients of all other rounds.
func (s seldom) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil && t.Gradient.Round%every != 0 {
		return nil
	}
	return s.Chain.Submit(ctx, t)
}
