package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// opposedFor are the results of 60 rounds: the first 18 gradients are opposed.
func opposedFor() []Result {
	var out []Result
	reputation := int64(params.One)
	for t := range uint64(60) {
		r := Result{Point: Point{Round: t, Members: []uint32{5}}, Verdict: Verdict{Participant: 5, Fate: Selected}}
		change := int64(0)
		if t < 18 {
			r.Verdict.Opposed = true
			change = max(-params.One/10, -reputation)
		}
		reputation += change
		left := reputation
		r.Verdict.Reputation, r.Verdict.Change = &left, &change
		out = append(out, r)
	}
	return out
}

func reversed(of []Result) []Result {
	out := make([]Result, 0, len(of))
	for i := range of {
		out = append(out, of[len(of)-1-i])
	}
	return out
}

// TestEachCostIsSaid: a penalty that is the same each time is said once.
func TestEachCostIsSaid(t *testing.T) {
	require.Contains(t, Incidents(nil, opposedFor()[:5])[0].What, "-0.1 each, reputation 0.5")
}

// TestIncidentsOfOneKind: the same trouble much later is told again, and why with it.
func TestIncidentsOfOneKind(t *testing.T) {
	var results []Result
	for t := range uint64(30) {
		r := Result{Point: Point{Round: t}, Verdict: Verdict{Participant: 6, Fate: Selected}}
		if t < 2 || t == 20 {
			r.Verdict.Fate = Refused
			r.Rejections = []query.Rejection{{Participant: 6, Signed: true, Reason: "norm", Norm: 412, MinNorm: 3950}}
		}
		if t == 25 {
			r.Verdict.Passed, r.Turn = true, "this node saw no aggregate of it in 4 heights from 12 on"
		}
		results = append(results, r)
	}
	all := Incidents(nil, results)
	require.Len(t, all, 3)
	require.Equal(t, "this node saw no aggregate of it in 4 heights from 12 on", all[0].What)
	require.Equal(t, "round 20", all[1].Rounds())
	require.Equal(t, "rounds 0 to 1", all[2].Rounds())
	require.Equal(t, "this node rejected its gradient (norm): norm 412; the noise alone makes at least 3950", all[2].What)
}

// TestIncidentsComeFirst: what a suspect did is one incident, although its last 42 rounds are alike and fill one row.
func TestIncidentsComeFirst(t *testing.T) {
	results := opposedFor()
	incidents := Incidents(nil, results)
	require.Len(t, incidents, 1)
	require.Equal(t, "rounds 0 to 17", incidents[0].Rounds())
	require.Contains(t, incidents[0].What, "points away from Delta in 18 of 18 rounds")
	require.Contains(t, incidents[0].What, "reputation 0 since round 9")
	spans := Spans(reversed(results))
	require.Len(t, spans, 2)
	require.Equal(t, []int{42, 18}, []int{spans[0].Count, spans[1].Count})
	require.EqualValues(t, -params.One, spans[1].Lost)
	vote := Incidents([]app.Offence{{Misbehavior: 1, Voted: 7, Height: 9}}, nil)[0]
	require.Equal(t, []string{"height 7", "/block/7"}, []string{vote.Rounds(), vote.Address()})
}
