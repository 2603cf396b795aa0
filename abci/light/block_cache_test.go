package light_test

import (
	"context"
	"sync"
	"testing"
	"time"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// TestForeseenBlocksAreNotFetched: a worker does not fetch the block of a round whose aggregate it
// has signed, and does fetch the block of another leader's aggregate.
func TestForeseenBlocksAreNotFetched(t *testing.T) {
	for name, c := range map[string]struct {
		others  bool
		fetched int
	}{"own": {false, 0}, "another's": {true, 6}} {
		n := newNode(t, apptest.ChainID, rounds(6))
		var mu sync.Mutex
		fetched := map[int64]bool{} // keyed by height, because two chains may both fetch a block
		n.lie = func(method string, _ int64, answer any) any {
			if b, ok := answer.(*coretypes.ResultBlock); ok && method == "block" && len(b.Block.Txs) > 0 {
				mu.Lock()
				fetched[b.Block.Height] = true
				mu.Unlock()
			}
			return answer
		}
		chain := n.chain(t, light.Home{})
		if c.others {
			chain = leads{chain, n.chain(t, light.Home{})}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, worker.Run(ctx, chain, config(t)), name)
		require.True(t, n.state.Finished(), name)
		mu.Lock()
		require.Len(t, fetched, c.fetched, name)
		mu.Unlock()
		task, err := first(n.chain(t, light.Home{}))
		require.NoError(t, err, name)
		require.Equal(t, n.state.Model, task.Model, name)
	}
}

// leads is a chain that sends aggregates by another path than gradients.
type leads struct {
	worker.Chain
	way worker.Chain
}

func (l leads) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	return l.way.Lead(ctx, participant)
}

func (l leads) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Aggregate != nil {
		return l.way.Submit(ctx, t)
	}
	return l.Chain.Submit(ctx, t)
}
