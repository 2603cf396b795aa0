package app_test

import (
	"slices"
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

// TestPassedOver: leaders whose views ended before that of the leader that closed the round lose
// reputation, but never all of it, and pause longer each time. A closed round makes up for one
// missed view.
func TestPassedOver(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Reputation.PassedOver, p.Reputation.Reward = 400_000, 0 })
	ranking := slices.Clone(s.Progress.Ranking)
	first := ranking[0]
	s = closeWith(t, s, 1, 9, 9, 9, 9).State
	require.EqualValues(t, 600_000, s.Participants[first].Reputation)
	for _, other := range ranking[1:] {
		require.EqualValues(t, params.One, s.Participants[other].Reputation)
	}
	require.NotContains(t, s.Progress.Ranking, first, "it pauses")

	contended := 0
	for s.Progress.Round < 40 {
		if at := slices.Index(s.Progress.Ranking, first); at >= 0 {
			contended++
			if at == 0 { // the leader stays silent again
				s = closeWith(t, s, 1, 9, 9, 9, 9).State
				require.GreaterOrEqual(t, s.Participants[first].Reputation, int64(params.One/10))
				continue
			}
		}
		s = closeWith(t, s, 0, 9, 9, 9, 9).State
	}
	p := s.Participants[first]
	require.EqualValues(t, params.One/10, p.Reputation, "passing takes no more than that")
	require.GreaterOrEqual(t, p.PassedOver, uint32(3))
	require.LessOrEqual(t, contended, 30)
	t.Logf("passed over %d times, contended in %d of 40 rounds", p.PassedOver, contended)
}

// TestLateRoundBlamesNobody: if the views of all ranks have passed, no leader is penalised, because
// the round itself was late.
func TestLateRoundBlamesNobody(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Reputation.PassedOver = 400_000 })
	for s.Height+1 < apptest.Opens(s, 4) {
		out, err := s.Execute(app.Block{Height: s.Height + 1})
		require.NoError(t, err)
		s = out.State
	}
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	for i, g := range pending {
		require.NoError(t, s.Admit(g), i)
	}
	a := &tx.Aggregate{}
	lead, err := s.DraftAggregate(s.Height+1, s.Progress.Ranking[0], pending)
	require.NoError(t, err)
	*a = *lead
	a.Leader, a.View = s.Progress.Ranking[0], 4 // the view after the last rank is open to all with a reputation
	out, err := s.Execute(app.Block{Height: s.Height + 1,
		Txs: s.Assemble(s.Height+1, append(pending, apptest.Sign(int(a.Leader), a)), 0)})
	require.NoError(t, err)
	require.EqualValues(t, 4, out.Record.View)
	for _, p := range out.State.Participants {
		require.EqualValues(t, params.One, p.Reputation)
		require.Zero(t, p.PassedOver)
	}
}
