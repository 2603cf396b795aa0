package testnet_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/testnet/attack"
)

// leading is a chain whose node drafts honestly.
type leading struct {
	chain
	draft *tx.Aggregate
}

func (l *leading) Lead(context.Context, uint32) (*tx.Aggregate, error) { return l.draft, nil }

// TestShifted: at the edge of the tolerance the chain takes an aggregate that no honest leader
// would sign, a numerator beyond it refuses it, under every denominator and with a gradient
// missing.
func TestShifted(t *testing.T) {
	for _, rule := range []string{"mean", "krum", "multi-krum", "nnm+trimmed-mean"} {
		for _, zeros := range []bool{false, true} {
			s := apptest.State(4, func(p *params.Params) {
				p.Rule.Name, p.Rule.Zeros, p.Rule.Tolerance, p.Grid.Step = rule, zeros, 2, 1.0/512
			})
			for _, senders := range [][]int{{0, 1, 2, 3}, {0, 1, 3}} {
				height := 1 + s.Params.Election.QuorumBlocks
				sent := apptest.Gradients(s, senders...)
				leader := s.Progress.Ranking[0]
				honest, err := s.DraftAggregate(height, leader, sent)
				require.NoError(t, err)
				for kind, want := range map[string]error{"shift-delta": nil, "shift-beyond": app.ErrTolerance} {
					c := &leading{chain{task: worker.Task{Params: s.Params, Active: s.Active()}}, honest}
					bad, err := attack.Hooks(kind).Chain(c, worker.Keys{Signing: apptest.Key(int(leader))})
					require.NoError(t, err)
					a, err := bad.Lead(t.Context(), leader)
					require.NoError(t, err)
					require.NotEqual(t, honest.Delta, a.Delta)
					for s.Height+1 < height { // empty blocks
						out, err := s.Execute(app.Block{Height: s.Height + 1})
						require.NoError(t, err)
						s = out.State
					}
					_, err = s.Execute(app.Block{Height: height, Txs: append([]*tx.Tx{apptest.Sign(int(leader), a)}, sent...)})
					require.ErrorIs(t, err, want, "%s, zeros %v, %d gradients, %s", rule, zeros, len(senders), kind)
				}
			}
		}
	}
}

// TestShiftOfNothing: without a tolerance the aggregate stays what it is.
func TestShiftOfNothing(t *testing.T) {
	s := apptest.State(4)
	a := &tx.Aggregate{Digest: []byte("digest")}
	require.NoError(t, attack.Shift(a, s.Params, 4, 1))
	require.Equal(t, &tx.Aggregate{Digest: []byte("digest")}, a)
}
