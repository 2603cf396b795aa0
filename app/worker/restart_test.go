package worker_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy"
)

// stopped runs a worker until the open round of a chain has its gradient and is not closed.
func stopped(t *testing.T, c *chain, conf worker.Config, round uint64) {
	t.Helper()
	c.fail = func(int) error {
		if c.state.Progress.Round >= round {
			return errors.New("connection reset")
		}
		return nil
	}
	runUntil(t, c, conf, func() bool {
		signed := len(c.gradients()[round]) > 0
		if signed {
			time.Sleep(50 * time.Millisecond) // for whatever else it would sign
		}
		return signed
	})
	require.Equal(t, round, c.state.Progress.Round)
}

// TestOldJournalAfterLateGradients: a participant has signed more than the chain counts, because
// gradients of it once came behind their rounds. Copies of its journal of every age are still not
// taken for the present one: nothing more is signed for the open round.
func TestOldJournalAfterLateGradients(t *testing.T) {
	const last = 6
	c, conf := newChain(9), config(t)
	var copies [][]byte
	for round := range uint64(last + 1) {
		stopped(t, c, conf, round)
		if round == 2 {
			c.state.Participants[0].Participations = 0 // rounds 0 and 1 closed without it
		}
		text, err := os.ReadFile(conf.Journal)
		require.NoError(t, err)
		copies = append(copies, text)
	}
	for age, text := range copies {
		require.NoError(t, os.WriteFile(conf.Journal, text, 0o600))
		conf.Source = privacy.NewTestSource(uint64(2 + age))
		stopped(t, c, conf, last)
		require.Len(t, c.gradients()[last], 1, "a copy of round %d", age)
	}
}

// late is a chain whose open round is overdue once it is told so.
type late struct {
	*chain
	overdue *atomic.Bool
}

func (l late) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	task, err := l.chain.Await(ctx, pub, last)
	if err == nil {
		task.Overdue = l.overdue.Load()
	}
	return task, err
}

// TestOverdueRound: a worker that is started again sits the open round out, for which its journal
// has nothing, until the round is overdue: else a net whose nodes all were started again would
// stand still.
func TestOverdueRound(t *testing.T) {
	c, conf := newChain(9), config(t)
	stopped(t, c, conf, 3)
	c.fail = nil
	l := late{c, new(atomic.Bool)}
	c.state.Progress.Round = 4 // another's aggregate closed it
	runUntilSaid(t, l, conf, "this worker sits it out")
	require.Empty(t, c.gradients()[4])
	l.overdue.Store(true)
	require.NoError(t, worker.Run(within(t), l, conf))
	require.Len(t, c.gradients()[4], 1)
	require.True(t, c.state.Finished())
}
