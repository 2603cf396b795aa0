package chainview

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// TestNothingAgainstIt: a participant has nothing against it only if all its counts are 0.
func TestNothingAgainstIt(t *testing.T) {
	full := 1.0
	for want, s := range map[string]Standing{
		"nothing against it":           {Active: true, Rounds: 9, Included: 9, Led: 2},
		"failed to lead 4 times":       {Active: true, Rounds: 9, Included: 9, Passed: 4},
		"opposed once; absent 2 times": {Active: true, Rounds: 9, Included: 7, Opposed: 1},
		"left out 3 times":             {Rounds: 20, Included: 4, LeftOut: 3, Weight: &full},
		"left out 3 times, as the rule does with some in every round": {Rounds: 20, Included: 4, LeftOut: 3},
		"rejected once": {Active: true, Rounds: 9, Included: 8, Refused: 1},
		"reputation 0; opposed to Delta in 9 of 20": {Opposed: 9, Reasons: []string{"reputation 0",
			"opposed to Delta in 9 of 20"}},
	} {
		require.Equal(t, want, s.Against())
	}
}

// TestALeaderThatAlwaysFailsIsWatched: although the chain's count is still small.
func TestALeaderThatAlwaysFailsIsWatched(t *testing.T) {
	s := Standing{Active: true, Reputation: params.One, Rounds: 30, Included: 30, Passed: 3, PassedOver: 1}
	s.Judge(nil)
	require.Equal(t, Watch, s.Alarm)
	require.Equal(t, "failed to lead in 3 of its 3 turns", s.Against())
	s = Standing{Active: true, Reputation: params.One, Rounds: 30, Included: 30, Passed: 2, Led: 5}
	s.Judge(nil)
	require.Equal(t, OK, s.Alarm)
}

// TestLeftOutOfMost: who is hardly ever selected by a rule that selects most differs, after enough rounds, in standings
// as in tallies. Half of a round is not most.
func TestLeftOutOfMost(t *testing.T) {
	people, points, tallies := make([]app.Participant, 4), []Point{}, make([]Tally, 4)
	for i := range people {
		people[i] = app.Participant{Index: uint32(i), Active: true, Reputation: params.One}
	}
	half := append([]Point{}, points...)
	for round := range uint64(20) {
		r := app.Record{Round: round, Rule: "multi-krum", Contributions: []app.Contribution{{Selected: round != 7},
			{Participant: 1, Selected: true}, {Participant: 2, Selected: true}, {Participant: 3, Selected: round == 7}}}
		points = append(points, PointOf(&r))
		Add(tallies, &r, people)
		r.Contributions[1].Selected = false
		half = append(half, PointOf(&r))
	}
	all := Standings(people, nil, points, 0)
	require.Equal(t, []string{OK, OK, OK, Differs}, []string{all[0].Alarm, all[1].Alarm, all[2].Alarm, all[3].Alarm})
	require.Equal(t, "left out (most are selected) in 19 of 20; "+Doubt, all[3].Against())
	require.Equal(t, []int{1, 0, 0, 19}, []int{tallies[0].Apart, tallies[1].Apart, tallies[2].Apart, tallies[3].Apart})
	require.Equal(t, OK, Standings(people, nil, points[8:20], 0)[3].Alarm, "twelve rounds are too few")
	require.Equal(t, OK, Standings(people, nil, half, 0)[3].Alarm)
}

// TestLeftOutAccusesNobody: rules as Krum leave some out in every round, and on unlike data the same ones. A rule that
// gives weights takes all weight from what it leaves out.
func TestLeftOutAccusesNobody(t *testing.T) {
	people := make([]app.Participant, 4)
	var krum, weighing []Point
	for i := range people {
		people[i] = app.Participant{Index: uint32(i), Active: true, Reputation: params.One}
	}
	for round := range uint64(60) {
		p := PointOf(&app.Record{Round: round, Rule: "krum", Margin: 5, Contributions: []app.Contribution{{Selected: true},
			{Participant: 1}, {Participant: 2}, {Participant: 3, Opposed: true}}})
		krum = append(krum, p)
		p.Weights = []float64{1, 0, 0, 0}
		weighing = append(weighing, p)
	}
	all := Standings(people, nil, krum, 0)
	require.Equal(t, []string{OK, OK, OK, Differs}, []string{all[0].Alarm, all[1].Alarm, all[2].Alarm, all[3].Alarm})
	require.Equal(t, "left out 50 times, as the rule does with some in every round", all[1].Against())
	require.Equal(t, "opposed to Delta in 50 of 50; "+Doubt, all[3].Against())
	all = Standings(people, nil, weighing, 0)
	require.Equal(t, []string{OK, Differs}, []string{all[0].Alarm, all[1].Alarm})
	require.Equal(t, "weight 0 on average; "+Doubt, all[1].Against())
}

// TestThresholds: a share raises an alarm from its threshold on and not below it, over enough rounds alone.
func TestThresholds(t *testing.T) {
	for _, x := range []struct {
		opposed, of int
		alarm       string
	}{{5, 10, Watch}, {6, 10, Differs}, {3, 10, Watch}, {2, 10, OK}, {3, 3, OK}, {4, 4, Differs}} {
		s := Standing{Active: true, Reputation: params.One, Included: x.of, Opposed: x.opposed}
		s.Judge(nil)
		require.Equal(t, x.alarm, s.Alarm, "%+v", x)
		require.False(t, s.Differed(), "fewer than %d rounds are not remembered", remembered)
	}
}

// TestTally: what a record says of each participant, also of one that committed alone, or failed to lead.
func TestTally(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true}, {Index: 1, Active: true}, {Index: 2, Active: true, Joined: 9},
		{Index: 3, Active: true}}
	all := make([]Tally, len(people))
	Add(all, &app.Record{Rule: "median", Leader: 1, View: 1, Ranking: []uint32{0, 1, 3}, Withheld: []uint32{3},
		Contributions: []app.Contribution{{Participant: 0, Selected: true}, {Participant: 1, Opposed: true}}}, people)
	require.Equal(t, []Tally{{Included: 1, Selected: 1, Missed: 1}, {Included: 1, Opposed: 1, Led: 1}, {},
		{Absent: 1, Withheld: 1}}, all)
	require.Nil(t, all[0].MeanWeight(), "the rule gives none")
}

// TestWeightAlert: the alert about a weight fires where a weight differs.
func TestWeightAlert(t *testing.T) {
	alerts, err := os.ReadFile("../../../docs/alerts.yml")
	require.NoError(t, err)
	require.Contains(t, string(alerts), fmt.Sprintf("(avg_over_time(spdl_weight[30m])) < %g and", leastWeight))
}
