package worker_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy"
)

// unawaited is a chain whose rounds wait for no participant. It calls hurry before the first wait
// for a round's end.
type unawaited struct {
	*chain
	once  sync.Once
	hurry func()
}

func (u *unawaited) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	if last != nil {
		u.once.Do(u.hurry)
	}
	task, err := u.chain.Await(ctx, pub, last)
	if err == nil {
		task.Unawaited = true
	}
	return task, err
}

// TestUnawaited: a worker for which the round does not wait signs nothing if the round closes
// without it, and signs if the round stays open.
func TestUnawaited(t *testing.T) {
	c := newChain(2)
	require.NoError(t, worker.Run(within(t), &unawaited{chain: c, hurry: func() {}}, config(t)))
	require.Len(t, c.gradients(), 2, "the rounds stay open until it signs")

	c = newChain(2)
	other := config(t)
	other.Source = privacy.NewTestSource(2) // with the same source both would sign the same bytes
	require.NoError(t, worker.Run(within(t), &unawaited{chain: c,
		hurry: func() { require.NoError(t, worker.Run(within(t), c, other)) }}, config(t)))
	require.Len(t, c.gradients()[0], 1, "the other's alone")
}
