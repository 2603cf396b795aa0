package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// closeWith closes the open round over gradients with the given constant coordinates, by a leader
// of the ranking at a height that opens its view.
func closeWith(t *testing.T, s *app.State, view uint64, coordinates ...int64) *app.Outcome {
	t.Helper()
	for s.Height+1 < apptest.Opens(s, view) {
		out, err := s.Execute(app.Block{Height: s.Height + 1})
		require.NoError(t, err)
		s = out.State
	}
	var pending []*tx.Tx
	for i, x := range coordinates {
		v := apptest.Vector(s.Grid().Width, len(s.Model), 0, 0)
		for j := range v.Len() {
			v.Set(j, x)
		}
		pending = append(pending, apptest.Sign(i, &tx.Gradient{Epoch: s.Progress.Epoch, Round: s.Progress.Round,
			Participant: uint32(i), Payload: v.Encode(), VrfProof: apptest.Proof(s, i)}))
	}
	leader := s.Progress.Ranking[view]
	a, err := s.DraftAggregate(s.Height+1, leader, pending)
	require.NoError(t, err)
	require.EqualValues(t, view, a.View)
	out, err := s.Execute(app.Block{Height: s.Height + 1,
		Txs: s.Assemble(s.Height+1, append(pending, apptest.Sign(int(leader), a)), 0)})
	require.NoError(t, err)
	return out
}

func opposed(r *app.Record) []bool {
	var out []bool
	for _, c := range r.Contributions {
		out = append(out, c.Opposed)
	}
	return out
}

// TestMarginOfOpposition: with a margin, a gradient opposes Delta only if it points against it by
// more than that share of the typical squared norm. With margin 0, as in the paper, it opposes
// Delta at any angle above 90 degrees.
func TestMarginOfOpposition(t *testing.T) {
	for _, c := range []struct {
		margin      int64
		coordinates []int64 // coordinates of four participants
		opposed     []bool
	}{
		// The mean is 21.5, and the lower median of the norms is 30: a gradient of x opposes by
		// -21.5 x / 900 of the typical squared norm.
		{0, []int64{30, 30, 30, -4}, []bool{false, false, false, true}},
		{95_000, []int64{30, 30, 30, -4}, []bool{false, false, false, true}}, // 21.5*4/900 = 0.0956
		{96_000, []int64{30, 30, 30, -4}, []bool{false, false, false, false}},
		{300_000, []int64{30, 30, 30, -30}, []bool{false, false, false, true}}, // 15*30/900 = 0.5
		{500_000, []int64{30, 30, 30, -30}, []bool{false, false, false, false}},
		{300_000, []int64{0, 0, 0, 0}, []bool{false, false, false, false}},
	} {
		s := apptest.State(4, func(p *params.Params) { p.Rule.Name, p.Reputation.Margin = "mean", c.margin })
		require.Equal(t, c.opposed, opposed(closeWith(t, s, 0, c.coordinates...).Record), "%+v", c)
	}
}
