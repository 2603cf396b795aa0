package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy"
)

// phased is a chain of one worker with commit_reveal.
type phased struct{ *chain }

func newPhased(rounds uint64) phased {
	c := newChain(rounds)
	c.state = apptest.State(1, apptest.CommitReveal, func(p *params.Params) {
		p.Rule.Name, p.TestChain, p.Training.Rounds = "mean", true, rounds
	})
	return phased{c}
}

func phase(s *app.State) worker.Phase {
	if s.Committing() && !s.Finished() {
		return worker.Commit
	}
	return worker.Reveal
}

func (c phased) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	for {
		c.mu.Lock()
		s, changed := c.state, c.changed
		c.mu.Unlock()
		if last == nil || last.Round != s.Progress.Round || last.Phase != phase(s) {
			task, err := c.chain.Await(ctx, pub, nil)
			if err == nil {
				task.Phase = phase(s)
			}
			return task, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c phased) Submit(ctx context.Context, t *tx.Tx) error {
	if err := c.chain.Submit(ctx, t); err != nil || t.Commit == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := c.state.Execute(app.Block{Height: c.state.Height + 1, Txs: c.state.Commits(c.state.Height+1, []*tx.Tx{t},
		0)})
	if err == nil {
		c.state, c.pending = out.State, nil
		c.notify()
	}
	return err
}

// TestCommitsFirst: a gradient is sent only after the chain has its hash.
func TestCommitsFirst(t *testing.T) {
	c, conf := newPhased(3), config(t)
	conf.Retry = time.Minute // no repetitions
	require.NoError(t, worker.Run(within(t), c, conf))
	var kinds []tx.Kind
	var committed []byte
	for _, x := range c.submitted {
		kinds = append(kinds, x.Kind())
		if x.Commit != nil {
			committed = x.Commit.Hash
		}
		if x.Gradient != nil {
			require.Equal(t, committed, x.Content[:])
		}
	}
	round := []tx.Kind{tx.KindCommit, tx.KindGradient, tx.KindAggregate}
	require.Equal(t, append(append(append([]tx.Kind{}, round...), round...), round...), kinds)
}

// TestCommitsAgain: a worker that restarts between commitment and gradient commits itself to the
// same gradient again, although its source would now draw another batch and other noise, and sends
// that gradient.
func TestCommitsAgain(t *testing.T) {
	c, conf := newPhased(1), config(t)
	conf.Retry = time.Minute
	ctx, cancel := context.WithCancel(within(t))
	c.fail = func(int) error { cancel(); return errors.New("the process is killed") }
	require.ErrorIs(t, worker.Run(ctx, c, conf), context.Canceled)
	c.fail, conf.Source = nil, privacy.NewTestSource(2)
	require.NoError(t, worker.Run(within(t), c, conf))
	require.Equal(t, c.submitted[0].Raw, c.submitted[1].Raw)
	require.Equal(t, c.submitted[0].Commit.Hash, c.submitted[2].Content[:])
}

// missed is a chain whose round takes no commitment from the worker. It calls over before the
// second wait.
type missed struct {
	phased
	waits *int
	over  func()
}

func (m missed) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	if last != nil {
		if *m.waits++; *m.waits == 2 {
			m.over()
		}
	}
	task, err := m.chain.Await(ctx, pub, last)
	if err == nil && !task.Finished {
		task.Phase = worker.Missed
	}
	return task, err
}

// TestMissed: a worker that is too late for the commitments of a round signs nothing for it.
func TestMissed(t *testing.T) {
	c, conf := newPhased(1), config(t)
	other := conf
	other.Journal, other.Source = "", privacy.NewTestSource(2)
	over := func() { require.NoError(t, worker.Run(within(t), c, other)) }
	require.NoError(t, worker.Run(within(t), missed{c, new(int), over}, conf))
	of := 0
	for _, x := range c.submitted {
		if x.Aggregate == nil { // either may lead
			of++
		}
	}
	require.Equal(t, 2, of, "the other's commitment and gradient alone")
}
