package history

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// TestParamsOfTheRound: what a report says of a round is of the round's epoch,
// though its block opened the next one.
func TestParamsOfTheRound(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds, p.TestChain = 1, true })
	next := apptest.Params(4, func(p *params.Params) { p.Rule.Name = "median" })
	epoch := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, next, false, false))
	out, err := s.Execute(app.Block{Height: 1, Txs: []*tx.Tx{epoch, apptest.Approve(1, epoch), apptest.Approve(2, epoch)}})
	require.NoError(t, err)
	out, err = out.State.Execute(app.Block{Height: 2, Txs: apptest.Close(out.State, 2)})
	require.NoError(t, err)
	require.Equal(t, uint64(1), out.State.Progress.Epoch)
	c := &Chain{State: out.State}
	r := Round{Record: *out.Record}
	require.NoError(t, c.measure(t.Context(), &r, out.State, nil))
	require.True(t, math.IsNaN(r.Accuracy))
	require.Equal(t, "multi-krum", audit.ParamsOf(out.State, 0).Rule.Name)
	require.True(t, audit.ParamsOf(out.State, 0).TestChain)
}
