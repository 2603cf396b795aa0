package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/privacy"
)

// fakeTrainer has 16 examples. Its n-th call fails if fail says so.
type fakeTrainer struct {
	calls  int
	asked  [][]int
	fail   func(n int) error
	closed bool
}

func (f *fakeTrainer) Len() int { return 16 }
func (f *fakeTrainer) Close()   { f.closed = true }

func (f *fakeTrainer) ClippedSum(_ context.Context, dst, _ []float64, picked []int) error {
	f.calls++
	f.asked = append(f.asked, slices.Clone(picked))
	clear(dst)
	dst[0] = float64(len(picked))
	if f.fail == nil {
		return nil
	}
	return f.fail(f.calls)
}

// externalChain is a chain with an external model.
func externalChain(rounds uint64) *chain {
	c := newChain(rounds)
	c.state = apptest.State(1, func(p *params.Params) {
		p.Rule.Name, p.TestChain, p.Training.Rounds = "mean", true, rounds
		p.Model = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows, Tensors: []params.Tensor{
			{Name: "w", Shape: []uint32{2, 4}, Init: params.InitNormal},
		}}
	})
	return c
}

func externalConfig(t *testing.T, f *fakeTrainer) worker.Config {
	conf := config(t)
	conf.Data = nil
	conf.External = func(context.Context, worker.Task) (worker.Examples, error) { return f, nil }
	return conf
}

// TestExternalToTheEnd: occasional failures of a trainer cost no gradient, and do not lead to a
// second gradient for a round. While a round is open, the trainer is asked for the same batch.
func TestExternalToTheEnd(t *testing.T) {
	f := &fakeTrainer{fail: func(n int) error {
		if n%3 != 0 {
			return errors.New("killed")
		}
		return nil
	}}
	c, conf, fails, does := externalChain(6), externalConfig(t, f), []bool(nil), worker.Step{}
	conf.Says = func(s worker.Step) {
		if s.Does == "" {
			fails = append(fails, s.Fails)
		} else if does = s; len(fails) > 0 {
			require.Equal(t, fails[len(fails)-1], s.Fails, "a new attempt does not hide that the last one failed")
		}
	}
	require.NoError(t, worker.Run(within(t), c, conf))
	require.True(t, c.state.Finished())
	require.True(t, f.closed)
	require.Equal(t, slices.Repeat([]bool{true, true, false}, 6), fails, "the node says whether the last attempt failed")
	require.Equal(t, "computing a gradient", does.Does)
	require.EqualValues(t, 5, does.Round)
	require.Positive(t, does.Took)
	gradients := c.gradients()
	require.Len(t, gradients, 6)
	for round, hashes := range gradients {
		require.Len(t, hashes, 1, "round %d", round)
	}
	require.Len(t, f.asked, 18)
	for i := 0; i < 18; i += 3 {
		require.Equal(t, f.asked[i], f.asked[i+1])
		require.Equal(t, f.asked[i], f.asked[i+2])
	}
	require.NotEqual(t, f.asked[0], f.asked[3], "each round has a batch of its own")
}

// TestExternalFailure: if the trainer gives no gradient, nothing is signed, journalled or spent.
func TestExternalFailure(t *testing.T) {
	var calls atomic.Int64
	f := &fakeTrainer{fail: func(int) error { calls.Add(1); return errors.New("no finite number") }}
	c := externalChain(6)
	conf := externalConfig(t, f)
	runUntil(t, c, conf, func() bool { return calls.Load() > 3 })
	require.Empty(t, c.submitted)
	journal, err := worker.OpenJournal(conf.Journal, apptest.ChainID,
		apptest.Genesis(1, apptest.Params(1)).Participants[0].Id)
	require.NoError(t, err)
	require.NoError(t, journal.Close())
	require.NoError(t, worker.Run(within(t), c, externalConfig(t, &fakeTrainer{})), "the next trainer does it")
}

// hiccup is a chain that may be unreachable at the first wait for the end of a round. It reports
// when it has announced an end.
type hiccup struct {
	*chain
	away atomic.Bool
	once sync.Once
	told chan struct{}
}

func (h *hiccup) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	if last != nil && h.away.Swap(false) {
		return nil, errors.New("connection refused")
	}
	task, err := h.chain.Await(ctx, pub, last)
	if last != nil && err == nil {
		h.once.Do(func() { close(h.told) })
	}
	return task, err
}

// TestLateTrainer: a gradient whose round closed during its computation is not signed, even if the
// chain was unreachable for a part of that time.
func TestLateTrainer(t *testing.T) {
	for _, away := range []bool{false, true} {
		c := externalChain(2)
		of := &hiccup{chain: c, told: make(chan struct{})}
		of.away.Store(away)
		f := &fakeTrainer{}
		f.fail = func(n int) error {
			if n == 1 { // another participant closes the round first
				other := externalConfig(t, &fakeTrainer{})
				other.Source = privacy.NewTestSource(2) // with the same source both would sign the same bytes
				ctx, cancel := context.WithCancel(within(t))
				other.External = func(context.Context, worker.Task) (worker.Examples, error) {
					return &fakeTrainer{fail: func(n int) error {
						if n == 2 {
							cancel()
							return ctx.Err()
						}
						return nil
					}}, nil
				}
				require.ErrorIs(t, worker.Run(ctx, c, other), context.Canceled)
				select {
				case <-of.told:
				case <-time.After(time.Minute):
				}
			}
			return nil
		}
		require.NoError(t, worker.Run(within(t), of, externalConfig(t, f)))
		require.Len(t, c.gradients()[0], 1, "the other's alone")
		require.Equal(t, 2, f.calls)
	}
}

// TestNoTrainer: a home without a trainer does not train on an external model.
func TestNoTrainer(t *testing.T) {
	conf := config(t)
	err := worker.Run(within(t), externalChain(1), conf)
	require.ErrorIs(t, err, worker.ErrUnfit)
	require.ErrorContains(t, err, "set worker.trainer")
}

// TestTrainerThatStartsLate: the worker tries again until the trainer starts.
func TestTrainerThatStartsLate(t *testing.T) {
	conf := externalConfig(t, nil)
	tries := 0
	conf.External = func(context.Context, worker.Task) (worker.Examples, error) {
		if tries++; tries < 3 {
			return nil, errors.New("no data yet")
		}
		return &fakeTrainer{}, nil
	}
	c := externalChain(2)
	require.NoError(t, worker.Run(within(t), c, conf))
	require.Equal(t, 3, tries)
}

// renewed is a chain that goes on to its next epoch when told to. That epoch is finished at once.
type renewed struct {
	*chain
	over atomic.Bool
}

func (r *renewed) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	if last != nil && last.Epoch == 0 && r.over.Load() {
		next := *last
		next.Epoch, next.Finished = 1, true
		return &next, nil
	}
	return r.chain.Await(ctx, pub, last)
}

// TestTrainerThatDoesNotStartInAnEpoch: the worker goes on to the next epoch, whose parameters its
// trainer may be able to use.
func TestTrainerThatDoesNotStartInAnEpoch(t *testing.T) {
	c := &renewed{chain: externalChain(2)}
	conf := externalConfig(t, nil)
	conf.External = func(context.Context, worker.Task) (worker.Examples, error) {
		c.over.Store(true)
		return nil, errors.New("config: no such file")
	}
	ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
	defer cancel()
	require.NoError(t, worker.Run(ctx, c, conf))
}

// TestStepText: a step of a second or more is told with the wait of a round, and is slow beside that.
func TestStepText(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	const computes, wait = "computing a gradient", 20 * time.Second
	for want, s := range map[string]worker.Step{
		"": {Does: computes, Since: ago(100 * time.Millisecond), Took: time.Second},
		"computing a gradient for 14s (round 3; a round waits 20s)": {Does: computes, Since: ago(14 * time.Second), Round: 3},
		"starting the trainer for 31s (round 0; a round waits 20s)": {Does: "starting the trainer",
			Since: ago(31 * time.Second)},
	} {
		text, isSlow := s.Text(wait)
		require.Equal(t, want, text)
		require.False(t, isSlow, text)
	}
	for want, s := range map[string]worker.Step{
		"its steps take 18s, and a round waits 20s":                 {Took: 18 * time.Second},
		"computing a gradient for 21s (round 0; a round waits 20s)": {Does: computes, Since: ago(21 * time.Second)},
	} {
		text, isSlow := s.Text(wait)
		require.Equal(t, want, text)
		require.True(t, isSlow, text)
	}
}
