package node

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
)

// asked is a chain that counts a worker's requests for its round.
type asked struct {
	worker.Chain
	times *atomic.Int64
}

func (a asked) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	a.times.Add(1)
	return a.Chain.Await(ctx, pub, last)
}

// TestWorkerWaitsUntilItsNodeHasCaughtUp: while a node fetches blocks, its worker requests nothing.
// Here the node's chain has a second validator and the node has no peer. The worker of a node that
// makes the blocks itself does request its round.
func TestWorkerWaitsUntilItsNodeHasCaughtUp(t *testing.T) {
	t.Parallel()
	stage.NotShort(t, "runs a node")
	second := func(c *config.Config) {
		doc, err := home.ReadGenesis(c)
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
