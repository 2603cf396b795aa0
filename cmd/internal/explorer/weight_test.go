package explorer

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
	p := pointOf(weighed(0))
	p.Offenders = []uint32{0}
	for i, class := range []string{Selected, "small", "opposed", "opposed"} {
		require.Equal(t, class, classOf(verdicts(weighed(0), nil, nil, nil)[i]))
	}
	got := tallyOf(p, nil)
	require.Equal(t, []int{3, 1, 2, 2, 1}, []int{got.Selected, got.LeftOut, got.Opposed, got.Small, got.Offences})
	require.InDelta(t, 1+0.25+1.0/64, *got.Weight, 1e-9)
	require.Equal(t, ", weight 0.02", verdicts(weighed(0), nil, nil, nil)[2].WeightNote())
	require.Empty(t, verdicts(weighed(0), nil, nil, nil)[3].WeightNote())

	var people []app.Participant
	for i := range uint32(4) {
		people = append(people, app.Participant{Index: i, Active: true, Reputation: params.One})
	}
	var points []Point
	for round := range uint64(recent + 5) {
		points = append(points, pointOf(weighed(round)))
	}
	all := standings(people, nil, points, 0)
	require.Equal(t, "opposed to Delta in 50 of 50; weight 0.02 on average; "+chainview.Doubt, all[2].Against())
	require.Equal(t, chainview.Differs, all[2].Alarm, "nothing is proven")
	require.Equal(t, "nothing against it", all[0].Against())
	require.Equal(t, "weight 0.25 on average; "+chainview.Doubt, all[1].Against(), "a minority, or an attacker")
	require.InDelta(t, 0.25, *all[1].Weight, 1e-9)
}

// TestMixturesHaveNoWeights: the scores of a rule on mixtures are those of the mixtures.
func TestMixturesHaveNoWeights(t *testing.T) {
	r := weighed(0)
	r.Rule = "nnm+agnostic-mean"
	for _, v := range verdicts(r, nil, nil, nil) {
		require.Nil(t, v.Weight)
		require.Zero(t, v.Place)
	}
	require.Nil(t, pointOf(r).weights)
}

// TestReputationsBegin: the changes of the first round on a participant's page are known, at the start
// of the chain and later, and a line begins with what evidence in the same block left.
func TestReputationsBegin(t *testing.T) {
	for _, rounds := range []uint64{12, resultRounds + 30} {
		f := newFake(rounds, "x")
		s := over(t, f, Options{})
		first, err := s.results(t.Context(), f.people(), params.RoundID{Round: rounds}, false, 3, nil)
		require.NoError(t, err)
		require.Len(t, first, int(min(rounds, resultRounds)))
		require.NotNil(t, first[0].Verdict.Change)
	}
	s := over(t, newFake(12, "x"), Options{})
	_, _, points, err := s.tail.now()
	require.NoError(t, err)
	c, err := s.reputationChart(t.Context(), points, []chainview.Standing{
		{Participant: 3, Moniker: "a", Alarm: chainview.Suspect}, {Participant: 2, Moniker: "b", Alarm: chainview.Suspect},
		{Participant: 1, Alarm: chainview.OK}})
	require.NoError(t, err)
	require.Zero(t, c.Lines[0].dots[0].value, "convicted in the block of round 0")
	story, err := s.story(t.Context(), params.RoundID{})
	require.NoError(t, err)
	require.Zero(t, *story.Verdicts[3].Reputation, "in tables as in the chart")
	require.Negative(t, *story.Verdicts[3].Change)
	require.Contains(t, story.Verdicts[3].Why, "is that of a conviction")
	require.Contains(t, get(s, "/participant/3/reputation.csv").Body.String(), "\n0,0\n")
	require.Equal(t, 1.0, c.Lines[1].dots[0].value)
	require.Equal(t, []lineKey{{chainview.Suspect, 0, "#3 a"}, {chainview.Suspect, 1, "#2 b"}}, c.Keys,
		"their lines look different")
	require.Equal(t, []int{0, 1, 0}, []int{c.Lines[0].Look, c.Lines[1].Look, c.Lines[2].Look})
}
