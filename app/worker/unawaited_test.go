package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
		task.Rest, task.MayPresent = new(uint64), true
		*task.Rest = 16
	}
	return task, err
}

// TestUnawaited: a worker for which the round does not wait signs nothing if the round closes
// without it, and signs if the round stays open.
func TestUnawaited(t *testing.T) {
	c, own := newChain(2), config(t)
	var said []string
	own.Log = func(text string, keyvals ...any) { said = append(said, fmt.Sprint(text, keyvals)) }
	require.NoError(t, worker.Run(within(t), &unawaited{chain: c, hurry: func() {}}, own))
	require.Len(t, c.gradients(), 2, "the rounds stay open until it signs")
	back := slices.DeleteFunc(said, func(line string) bool { return !strings.HasPrefix(line, "rounds do not wait") })
	require.Len(t, back, 1, "once for a rest")
	require.Contains(t, back[0], "rest_ends 16")

	c = newChain(2)
	other := config(t)
	other.Source = privacy.NewTestSource(2) // with the same source both would sign the same bytes
	require.NoError(t, worker.Run(within(t), &unawaited{chain: c,
		hurry: func() { require.NoError(t, worker.Run(within(t), c, other)) }}, config(t)))
	require.Len(t, c.gradients()[0], 1, "the other's alone")
}
