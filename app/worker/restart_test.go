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

// stopped runs a worker until the open round of a chain has its gradient, before the round closes.
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
			time.Sleep(50 * time.Millisecond) // time in which it could sign something else
		}
		return signed
	})
	require.Equal(t, round, c.state.Progress.Round)
}

// TestOldJournalAfterLateGradients: a participant has signed more gradients than the chain counts,
// because some once came too late. A copy of its journal of any age is still recognised as old:
// nothing more is signed for the open round.
func TestOldJournalAfterLateGradients(t *testing.T) {
	const last = 6
	c, conf := newChain(9), config(t)
	var copies [][]byte
	for round := range uint64(last + 1) {
		stopped(t, c, conf, round)
		if round == 2 {
			c.state.Participants[0].Participations = 0 // rounds 0 and 1 closed without its gradient
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

// late is a chain whose open round becomes overdue when told so.
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

// TestOverdueRound: a restarted worker whose journal has no entry for the open round skips the
// round until the round is overdue. If it skipped the whole round, a net in which all nodes
// restarted would stall.
func TestOverdueRound(t *testing.T) {
	c, conf := newChain(9), config(t)
	stopped(t, c, conf, 3)
	c.fail = nil
	l := late{c, new(atomic.Bool)}
	c.state.Progress.Round = 4 // another leader's aggregate closed it
	runUntilSaid(t, l, conf, "this worker sits it out")
	require.Empty(t, c.gradients()[4])
	l.overdue.Store(true)
	require.NoError(t, worker.Run(within(t), l, conf))
	require.Len(t, c.gradients()[4], 1)
	require.True(t, c.state.Finished())
}
