package pages

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// weighed is a round of the rule agnostic-mean with gradients of the weights 1, 1/4, 1/64 and 0, the
// last two of which are opposed.
func weighed(round uint64) *app.Record {
	const equal = int64(1 << 20 / 4)
	r := &app.Record{Round: round, Height: round + 2, Rule: "agnostic-mean"}
	for i, score := range []int64{0, equal * 3 / 4, equal * 63 / 64, equal} {
		r.Contributions = append(r.Contributions, app.Contribution{Participant: uint32(i), Selected: score < equal,
			Score: score, Opposed: i > 1, Reputation: params.One})
	}
	return r
}

// TestWeightIsShown: a mark of the map, a verdict, a round's tally and a standing say how much a selected
// gradient weighed.
func TestWeightIsShown(t *testing.T) {
	p := chainview.PointOf(weighed(0))
	p.Offenders = []uint32{0}
	for i, class := range []string{chainview.Selected, "small", "opposed", "opposed"} {
		require.Equal(t, class, classOf(chainview.Verdicts(weighed(0), nil, nil, nil)[i]))
	}
	got := tallyOf(p, nil)
	require.Equal(t, []int{3, 1, 2, 2, 1}, []int{got.Selected, got.LeftOut, got.Opposed, got.Small, got.Offences})
	require.InDelta(t, 1+0.25+1.0/64, *got.Weight, 1e-9)
	require.Equal(t, ", weight 0.02", chainview.Verdicts(weighed(0), nil, nil, nil)[2].WeightNote())
	require.Empty(t, chainview.Verdicts(weighed(0), nil, nil, nil)[3].WeightNote())

	var people []app.Participant
	for i := range uint32(4) {
		people = append(people, app.Participant{Index: i, Active: true, Reputation: params.One})
	}
	var points []chainview.Point
	for round := range uint64(chainview.Recent + 5) {
		points = append(points, chainview.PointOf(weighed(round)))
	}
	all := chainview.Standings(people, nil, points, 0)
	require.Equal(t, "opposed to Delta in 50 of 50; weight 0.02 on average; "+chainview.Doubt, all[2].Against())
	require.Equal(t, "nothing against it", all[0].Against())
	require.InDelta(t, 0.25, *all[1].Weight, 1e-9)
}
