package explorer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// opposedFor are the results of 60 rounds, of which the first 18 are opposed.
func opposedFor() []result {
	var out []result
	reputation := int64(params.One)
	for t := range uint64(60) {
		r := result{Point: Point{Round: t, included: []uint32{5}}, Verdict: Verdict{Participant: 5, Fate: Selected}}
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

// TestIncidentsComeFirst: what a suspect did is one line, although its last 42 rounds are alike and
// fill one row.
func TestIncidentsComeFirst(t *testing.T) {
	results := opposedFor()
	incidents := incidentsOf(results)
	require.Len(t, incidents, 1)
	require.Equal(t, "rounds 0 to 17", incidents[0].Rounds())
	require.Contains(t, incidents[0].What, "points away from Delta in 18 of 18 rounds")
	require.Contains(t, incidents[0].What, "reputation 0 since round 9")
	spans := spansOf(reversed(results))
	require.Len(t, spans, 2)
	require.Equal(t, []int{42, 18}, []int{spans[0].Count, spans[1].Count})
	require.EqualValues(t, -params.One, spans[1].Lost)
	page := get(over(t, newFake(12, "x"), Options{}), "/participant/3").Body.String()
	require.Less(t, strings.Index(page, "<h2>Incidents"), strings.Index(page, "<h2>Identity"))
	require.Contains(t, page, `<a href="/round/0/0">rounds 0 to 11</a>: points away from Delta in 12 of 12 rounds`)
	require.Contains(t, get(over(t, newFake(12, "x"), Options{}), "/participant/0").Body.String(),
		"None in the last 12 rounds.")
}

func reversed(of []result) []result {
	out := make([]result, 0, len(of))
	for i := range of {
		out = append(out, of[len(of)-1-i])
	}
	return out
}

// TestEachCostIsSaid: a penalty that is the same each time is said once.
func TestEachCostIsSaid(t *testing.T) {
	require.Contains(t, incidentsOf(opposedFor()[:5])[0].What, "-0.1 each, reputation 0.5")
}

// TestIncidentsOfOneKind: the same trouble much later is told again, and why with it.
func TestIncidentsOfOneKind(t *testing.T) {
	var results []result
	for t := range uint64(30) {
		r := result{Point: Point{Round: t}, Verdict: Verdict{Participant: 6, Fate: Selected}}
		if t < 2 || t == 20 {
			r.Verdict.Fate = Refused
			r.refusals = []query.Rejection{{Participant: 6, Signed: true, Reason: "norm", Norm: 412, MinNorm: 3950}}
		}
		if t == 25 {
			r.Verdict.Passed, r.Turn = true, "this node saw no aggregate of it in 4 heights from 12 on"
		}
		results = append(results, r)
	}
	all := incidentsOf(results)
	require.Len(t, all, 3)
	require.Equal(t, "this node saw no aggregate of it in 4 heights from 12 on", all[0].What)
	require.Equal(t, "round 20", all[1].Rounds())
	require.Equal(t, "rounds 0 to 1", all[2].Rounds())
	require.Equal(t, "this node rejected its gradient (norm): norm 412; the noise alone makes at least 3950", all[2].What)
}

// TestParticipantInShares: rounds led and epsilon are said as shares, and a chart that would be empty
// is left out.
func TestParticipantInShares(t *testing.T) {
	s := over(t, newFake(12, "x"), Options{})
	page := get(s, "/participant/1").Body.String()
	require.Contains(t, page, "of 12 rounds, 100 %; an even share is 25 %")
	require.Contains(t, page, "17 % of the budget, 3")
	require.NotContains(t, page, `id="chart-epsilon"`, "the fake's ledger is empty")
	require.Contains(t, page, `id="chart-reputation"`)
	w := get(s, "/participant/1/reputation.csv")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, 13, strings.Count(w.Body.String(), "\n"))
	require.Equal(t, http.StatusNotFound, get(s, "/participant/9/reputation.csv").Code)
}

// TestProvenOffenceIsAnIncident: it comes first, with its evidence, and the round that lost the
// reputation to it says so and is a row of its own.
func TestProvenOffenceIsAnIncident(t *testing.T) {
	s := over(t, newFake(12, "x"), Options{}) // participant 3: two gradients for round 0, proven in block 2
	page := get(s, "/participant/3").Body.String()
	incidents := between(t, page, `id="incidents"`, "</div>")
	offence, opposed := strings.Index(incidents, "✕ proven offence"), strings.Index(incidents, "✕ opposed")
	require.Positive(t, offence)
	require.Less(t, offence, opposed)
	for _, text := range []string{`<a href="/round/0/0">round 0</a>: two different statements (gradient)`,
		`proven in <a href="/block/2">block 2</a>, see the <a href="/evidence">evidence</a>`} {
		require.Contains(t, incidents, text)
	}
	rows := between(t, page, `id="history"`, "</table>")
	require.Contains(t, rows, "Two different statements of it for this round (gradient) are proven in block 2.")
	require.Contains(t, rows, "the evidence in block 2 set it to 0")
	require.Equal(t, 2, strings.Count(rows, "<tr class"), "round 0, whose block has the evidence, and the rest")

	require.Contains(t, get(s, "/round/0/0").Body.String(), "✕ offence")
	require.NotContains(t, get(s, "/round/0/1").Body.String(), "✕ offence")
	require.Contains(t, get(s, "/round/0/0").Body.String(), "the evidence in block 2 set it to 0")
	require.NotContains(t, get(s, "/round/0/1").Body.String(), "the evidence in block 2 set it to 0")
	require.Equal(t, 1, strings.Count(get(s, "/rounds").Body.String(), "✕ offence"))
	vote := proven([]app.Offence{{Misbehavior: 1, Voted: 7, Height: 9}})[0]
	require.Equal(t, []string{"height 7", "/block/7"}, []string{vote.Rounds(), vote.Address()})
}
