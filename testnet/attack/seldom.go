package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// every is the period, in rounds, at which a seldom participant takes part.
const every = 3

// seldom is a participant that sends a gradient only in every third round, whether the round waits
// for it or not. So the other participants wait for it as often as the chain allows.
type seldom struct{ worker.Chain }

// Await hides from the worker that a round does not wait for it.
func (s seldom) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := s.Chain.Await(ctx, pub, last)
	if task != nil {
		task.Unawaited = false
	}
	return task, err
}

// Submit drops the gradients of the rounds in which the participant does not take part.
func (s seldom) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil && t.Gradient.Round%every != 0 {
		return nil
	}
	return s.Chain.Submit(ctx, t)
}
