package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
)

// liar is a chain that reports false tasks and drafts.
type liar struct {
	*chain
	change func(*worker.Task) // changes every task; nil changes nothing
	drafts []*tx.Aggregate
	spoken atomic.Bool // set when it has no more drafts, and the worker has handled them
}

func (l *liar) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	if l.change == nil {
		return l.chain.Await(ctx, pub, last)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	task, err := l.chain.Await(ctx, pub, nil)
	if err == nil {
		l.change(task)
	}
	return task, err
}

func (l *liar) Lead(ctx context.Context, _ uint32) (*tx.Aggregate, error) {
	if len(l.drafts) == 0 {
		l.spoken.Store(true)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d := l.drafts[0]
	l.drafts = l.drafts[1:]
	return d, nil
}

func (l *liar) Submit(_ context.Context, t *tx.Tx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.submitted = append(l.submitted, t)
	return nil
}

// TestPolicyRefusesAnEpoch: with parameters that give less privacy than the home requires, the
// worker computes nothing, whatever the source of the parameters. A worker with Follow waits for
// the next epoch.
func TestPolicyRefusesAnEpoch(t *testing.T) {
	for _, follow := range []bool{false, true} {
		l := &liar{chain: newChain(9), change: func(task *worker.Task) {
			task.Params.Privacy = params.Privacy{Mechanism: params.MechanismNone, Batch: 16}
		}}
		conf := config(t)
		conf.Follow = follow
		conf.Policy = func(task worker.Task) (params.Privacy, error) {
			return params.Privacy{}, fmt.Errorf("%w: mechanism %q", worker.ErrPolicy, task.Params.Privacy.Mechanism)
		}
		if follow {
			runUntilSaid(t, l, conf, "less privacy than this home demands")
		} else {
			require.ErrorIs(t, worker.Run(within(t), l, conf), worker.ErrPolicy)
		}
		require.Empty(t, l.submitted)
	}
}

// TestLedgerKeepsItsUnit: the journal records what its epsilon counts for. With another unit of
// privacy, whatever members or a node say, the worker reads no data and signs nothing.
func TestLedgerKeepsItsUnit(t *testing.T) {
	of := func(column string) func(*worker.Task) {
		return func(task *worker.Task) {
			task.Params.Privacy.Unit = params.UnitGroup
			task.Params.Model.Table = &params.Table{Group: column}
		}
	}
	l := &liar{chain: newChain(1), change: of("patient_id")}
	conf := config(t)
	data := conf.Data
	conf.Data = func(ctx context.Context, task worker.Task) (mnist.Features, error) {
		f, err := data(ctx, task)
		f.Groups = make([]uint32, f.Len())
		for i := range f.Groups {
			f.Groups[i] = uint32(i)
		}
		return f, err
	}
	runUntilSaid(t, l, conf, worker.Computed)
	info, err := worker.ReadJournalInfo(conf.Journal)
	require.NoError(t, err)
	require.Equal(t, "group:patient_id", info.Unit)
	signed := len(l.gradients())

	l.change = of("row_id")
	conf.Data = nil // it is not called
	err = worker.Run(within(t), l, conf)
	require.ErrorIs(t, err, worker.ErrPolicy)
	require.ErrorContains(t, err, `is "group:row_id", and this home's journal counts epsilon for "group:patient_id"`)
	require.Len(t, l.gradients(), signed)
}

// TestOwnBudgetBoundsGradients: whatever rounds and spends a node reports, the worker signs no more
// gradients than its home's own budget pays for, also after a restart.
func TestOwnBudgetBoundsGradients(t *testing.T) {
	var round uint64
	l := &liar{chain: newChain(1000), change: func(task *worker.Task) {
		task.Round = round
		round++
	}}
	conf := config(t)
	conf.Policy = func(worker.Task) (params.Privacy, error) {
		own := params.Privacy{Epsilon: 1, Delta: 1e-6, Cost: make([]uint64, params.LedgerColumns),
			Budget: make([]uint64, params.LedgerColumns)}
		for i := range own.Cost {
			own.Cost[i], own.Budget[i] = 10, 44
		}
		return own, nil
	}
	for range 3 {
		require.NoError(t, worker.Run(within(t), l, conf), "it ends when its budget is spent")
	}
	require.Greater(t, round, uint64(4))
	require.Len(t, l.gradients(), 4, "44 pays for 4 gradients of 10")
}

// TestOneAggregateAView: a worker signs no second draft for a view, none for an earlier round, and
// none in another participant's name.
func TestOneAggregateAView(t *testing.T) {
	draft := func(round uint64, view uint32, b byte) *tx.Aggregate {
		return &tx.Aggregate{Round: round, Leader: 0, View: view, Digest: bytes.Repeat([]byte{b}, 32)}
	}
	anothers := draft(0, 2, 7)
	anothers.Leader = 1
	l := &liar{chain: newChain(1000), drafts: []*tx.Aggregate{
		draft(0, 0, 1), draft(0, 1, 1), draft(0, 0, 2), draft(0, 1, 3), anothers, draft(1, 0, 1), draft(0, 3, 1),
		draft(0, 0, 4),
	}}
	conf := config(t)
	for range 2 { // the second time from the journal
		runUntil(t, l, conf, l.spoken.Load)
		l.spoken.Store(false)
		l.drafts = []*tx.Aggregate{draft(1, 0, 5), draft(0, 0, 5)}
	}
	signed := map[string]map[[32]byte]bool{}
	for _, x := range l.submitted {
		if a := x.Aggregate; a != nil {
			place := fmt.Sprint(a.Leader, "/", a.Round, "/", a.View)
			if signed[place] == nil {
				signed[place] = map[[32]byte]bool{}
			}
			signed[place][x.Hash] = true
		}
	}
	require.Len(t, signed, 3, "leader 0 in round 0 views 0 and 1, and in round 1 view 0")
	for place, different := range signed {
		require.Len(t, different, 1, place)
	}
}

// TestDroppedAggregate: a worker whose aggregate the node drops again and again submits it once in each
// Retry.
func TestDroppedAggregate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, conf := &liar{chain: newChain(1000)}, config(t)
		conf.Retry = 500 * time.Millisecond
		l.drafts = slices.Repeat([]*tx.Aggregate{{Round: 0, Leader: 0, Digest: make([]byte, 32)}}, 1000)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.ErrorIs(t, worker.Run(ctx, l, conf), context.DeadlineExceeded)
		aggregates := 0
		for _, x := range l.submitted {
			if x.Aggregate != nil {
				aggregates++
			}
		}
		require.InDelta(t, 20, aggregates, 1)
	})
}
