package testnet

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
)

// TestInProcess: four nodes with real p2p learn, are followed to the end, stop,
// and go on from their databases in the same process.
func TestInProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	home := t.TempDir()
	n, err := Init(Manifest{Home: home, Rounds: 8, Seed: 1})
	require.NoError(t, err)
	e, err := n.Evaluator(t.Context())
	require.NoError(t, err)

	nodes, err := StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	running := true
	defer func() {
		if running {
			_ = nodes.Stop()
		}
	}()
	var rounds []Round
	require.NoError(t, Follow(ctx, n, e, func(r Round) error {
		rounds = append(rounds, r)
		return nil
	}))
	require.NoError(t, nodes.Stop())
	running = false
	require.Eventually(t, func() bool { // a goroutine that outlives its node would keep the whole of it in memory
		var stacks bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
		return !strings.Contains(stacks.String(), "multiAppConn")
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, rounds, 8)
	for i, r := range rounds {
		require.Equal(t, uint64(i), r.Round)
		require.GreaterOrEqual(t, r.Included, 3)
		require.NotNil(t, r.TestAccuracy)
		require.False(t, r.Past)
	}
	require.Greater(t, *rounds[7].TestAccuracy, 0.6)

	// The same homes again: all is there, nothing is left to do.
	again, err := Open(home)
	require.NoError(t, err)
	nodes, err = StartInProcess(again, log.NewNopLogger())
	require.NoError(t, err)
	running = true
	require.NoError(t, Follow(ctx, again, e, func(r Round) error {
		require.True(t, r.Past)
		require.Equal(t, rounds[r.Round].Height, r.Height)
		require.Equal(t, rounds[r.Round].TestAccuracy, r.TestAccuracy)
		return nil
	}))
	require.NoError(t, Follow(ctx, again, broken{}, func(r Round) error {
		require.Nil(t, r.TestAccuracy, "the net goes on where its own trainer fails")
		require.NotEmpty(t, r.Unmeasured)
		return nil
	}))
}

// broken is a trainer that fails.
type broken struct{}

func (broken) Evaluate(context.Context, params.Params, []float64) (model.Eval, error) {
	return model.Eval{}, fmt.Errorf("%w: lost my GPU", trainer.ErrTrainer)
}

// TestFollowEnds: with nobody to answer it waits for its context.
func TestFollowEnds(t *testing.T) {
	n, err := Init(Manifest{Home: t.TempDir()})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, Follow(ctx, n, nil, nil), context.DeadlineExceeded)
}
