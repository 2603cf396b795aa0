package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
)

// asks makes a worker ask before it trains, and returns the answer that it gets.
func asks(conf *worker.Config) *atomic.Bool {
	agreed := new(atomic.Bool)
	conf.Consent = func(t worker.Task) error {
		if agreed.Load() {
			return nil
		}
		return fmt.Errorf("%w to epoch %d", worker.ErrConsent, t.Epoch)
	}
	return agreed
}

// TestNothingBeforeConsent: before the home consents to the first epoch, the worker reads no data,
// signs no gradient, and logs what it waits for. Then it trains to the end.
func TestNothingBeforeConsent(t *testing.T) {
	c, conf := newChain(6), config(t)
	agreed := asks(&conf)
	var read atomic.Int64
	conf.Data = func(ctx context.Context, task worker.Task) (mnist.Features, error) {
		read.Add(1)
		return tiny(ctx, task)
	}
	runUntilSaid(t, c, conf, "no consent to epoch 0")
	require.Zero(t, read.Load())
	require.Empty(t, c.submitted)
	agreed.Store(true)
	require.NoError(t, worker.Run(within(t), c, conf))
	require.True(t, c.state.Finished())
	require.Len(t, c.gradients(), 6)
}

// TestWithdrawnConsent: a withdrawal ends the program that has the data before the next gradient is
// signed, also during a computation. With consent again, the same worker goes on.
func TestWithdrawnConsent(t *testing.T) {
	c := externalChain(6)
	var trainers []*fakeTrainer
	conf := externalConfig(t, nil)
	agreed := asks(&conf)
	agreed.Store(true)
	conf.External = func(context.Context, worker.Task) (worker.Examples, error) {
		f := new(fakeTrainer)
		if trainers = append(trainers, f); len(trainers) == 1 {
			f.fail = func(n int) error {
				agreed.Store(n < 3)
				return nil
			}
		}
		return f, nil
	}
	var waits atomic.Int64
	conf.Log = func(message string, _ ...any) {
		if message == "no consent to epoch 0" {
			require.True(t, trainers[0].closed)
			require.Equal(t, 3, trainers[0].calls)
			waits.Add(1)
			require.Len(t, c.gradients(), 2, "the third is computed, and not signed")
			agreed.Store(true)
		}
	}
	require.NoError(t, worker.Run(within(t), c, conf))
	require.EqualValues(t, 1, waits.Load())
	require.Len(t, trainers, 2)
	require.Len(t, c.gradients(), 6)
}

// TestVetoedEpoch: a worker that waits for consent stops waiting when the other participants have
// finished the epoch.
func TestVetoedEpoch(t *testing.T) {
	c, conf := newChain(3), config(t)
	asks(&conf)
	said := make(chan struct{})
	conf.Log = func(message string, _ ...any) {
		if message == "no consent to epoch 0" {
			close(said)
		}
	}
	over := make(chan error, 1)
	go func() { over <- worker.Run(within(t), c, conf) }()
	<-said
	require.NoError(t, worker.Run(within(t), c, config(t)), "the same participant elsewhere trains the epoch")
	require.NoError(t, <-over)
}
