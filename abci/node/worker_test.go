package node

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
)

// asked is a chain that counts how often a worker asks for its round.
type asked struct {
	worker.Chain
	times *atomic.Int64
}

func (a asked) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	a.times.Add(1)
	return a.Chain.Await(ctx, pub, last)
}

// TestWorkerWaitsUntilItsNodeHasCaughtUp: a node that fetches blocks still, here one whose
// chain has a second validator and no peer to ask, has a worker that asks for nothing; one
// that makes the blocks itself has one that does.
func TestWorkerWaitsUntilItsNodeHasCaughtUp(t *testing.T) {
	stage.NotShort(t, "runs a node")
	second := func(c *config.Config) {
		doc, err := readGenesis(c)
		require.NoError(t, err)
		pub := cmted25519.GenPrivKey().PubKey()
		doc.Validators = append(doc.Validators, types.GenesisValidator{PubKey: pub, Power: app.Power})
		require.NoError(t, doc.SaveAs(c.GenesisFile()))
	}
	for behind, change := range map[bool]func(*config.Config){true: second, false: func(*config.Config) {}} {
		c, a := alone(t, 100_000)
		change(c)
		var times atomic.Int64
		r, err := Start(c, a, log.NewNopLogger(), Hooks{Chain: func(chain worker.Chain, _ worker.Keys) (worker.Chain, error) {
			return asked{chain, &times}, nil
		}})
		require.NoError(t, err)
		if behind {
			time.Sleep(500 * time.Millisecond)
			require.True(t, r.Node.ConsensusReactor().WaitSync())
			require.Zero(t, times.Load())
		} else {
			require.Eventually(t, func() bool { return times.Load() > 0 }, time.Minute, time.Millisecond)
		}
		require.NoError(t, r.Stop())
	}
}

// TestNobodyTrainsOnMNISTByAccident: a home that names no data trains on a chain of its own alone;
// the refusal says what to set, and the embedded images are had by their name.
func TestNobodyTrainsOnMNISTByAccident(t *testing.T) {
	c, a := alone(t, 5)
	read := func(data string, members int) error {
		home := a
		home.Worker.Data = data
		w, err := WorkerOf(c, home, worker.Keys{}, func(string, params.Model, mnist.Part) (mnist.Set, error) { return mnist.Set{}, errors.New("read") }, func(string, ...any) {})
		require.NoError(t, err)
		_, err = w.Data(worker.Task{Active: members})
		return err
	}
	require.ErrorContains(t, read("", 1), "read")
	require.ErrorContains(t, read("/my/data", 4), "read")
	require.ErrorContains(t, read(EmbeddedData, 4), "read")
	err := read("", 4)
	require.ErrorIs(t, err, worker.ErrUnfit)
	require.ErrorContains(t, err, "4 participants")
	require.ErrorContains(t, err, `"embedded"`)
	_, err = LoadData(EmbeddedData, params.Model{})
	require.NoError(t, err)
}
