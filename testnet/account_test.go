package testnet

import (
	"context"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
)

// lateInTurn is a participant whose gradient does not arrive in every fourth round, to which it has committed itself.
type lateInTurn struct {
	worker.Chain
	turn uint64
}

func (l lateInTurn) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient != nil && t.Gradient.Round%4 == l.turn {
		return nil
	}
	return l.Chain.Submit(ctx, t)
}

// TestEpsilonOfMissedGradients: where every round closes with 3 of 4 gradients, the last line states the spend of the
// chain's ledger, in which a commitment without its gradient costs as much. An audit states the same ledger.
func TestEpsilonOfMissedGradients(t *testing.T) {
	stage.OnlyLong(t) // runs a net
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	commit := true
	n, err := Init(Manifest{Home: t.TempDir(), Preset: "pixels", Rounds: 8, Seed: 1, CommitReveal: &commit})
	require.NoError(t, err)
	for i := range n.Nodes {
		h := node.Hooks{Chain: func(c worker.Chain, _ worker.Keys) (worker.Chain, error) {
			return lateInTurn{c, uint64(i)}, nil
		}}
		running, err := node.Start(n.Nodes[i].home.Config, n.Nodes[i].app, log.NewNopLogger(), h)
		require.NoError(t, err)
		defer func() { _ = running.Stop() }()
	}
	var last Round
	late := 0
	require.NoError(t, Follow(ctx, n, nil, func(r Round) error {
		require.Equal(t, 3, r.Included)
		require.Equal(t, []uint32{uint32(r.Round % 4)}, r.Missing)
		late += len(r.Late)
		last = r
		return nil
	}))
	require.Positive(t, late, "rounds whose missing participant has been late")
	c, err := client.New(n.Nodes[0].RPC)
	require.NoError(t, err)
	all, err := client.Ask[[]query.Spend](ctx, c, "/privacy")
	require.NoError(t, err)
	var ledger float64
	for _, s := range all {
		require.EqualValues(t, 6, s.Participations, "gradients in rounds")
		require.NotNil(t, s.Epsilon)
		ledger = max(ledger, *s.Epsilon)
	}
	require.InDelta(t, ledger, *last.Epsilon, 1e-12)
}
