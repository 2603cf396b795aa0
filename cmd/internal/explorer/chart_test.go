package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

func accuracies(values ...float64) []chainview.Point {
	var out []chainview.Point
	for i, x := range values {
		out = append(out, chainview.Point{Round: uint64(i), Accuracy: &x, Examples: 10_000})
	}
	return out
}

// TestAccuracyShowsLearning: the axis begins at a round share below the smallest, which the legend
// names, and at 0 if there is none.
func TestAccuracyShowsLearning(t *testing.T) {
	accuracy := func(p chainview.Point) *float64 { return p.Accuracy }
	c := chartOf("/training", "accuracy", "Test accuracy", "%", 1, accuracies(0.93, 0.98), accuracy)
	require.Equal(t, []string{"90 %", "92.5 %", "95 %", "97.5 %", "100 %"}, labels(c.Ticks))
	require.Equal(t, "44.0,101.0 296.0,36.0", c.Points)
	require.Equal(t, "98 % after round 1; between 93 % and 98 % since round 0; the axis begins at 90 %", c.Legend)
	whole := chartOf("/training", "accuracy", "Test accuracy", "%", 1, accuracies(0.1, 0.98), accuracy)
	require.Equal(t, []string{"0 %", "25 %", "50 %", "75 %", "100 %"}, labels(whole.Ticks))
	require.NotContains(t, whole.Legend, "axis")
	loss := chartOf("/training", "loss", "Test loss", "", 0, accuracies(0.31, 0.11),
		func(p chainview.Point) *float64 { return p.Accuracy })
	require.Equal(t, []string{"0", "0.1", "0.2", "0.3", "0.4"}, labels(loss.Ticks))
	require.Equal(t, "round,accuracy\n0,0.93\n1,0.98\n", csvOf(t, content{body: homePage{Accuracy: c}}, "accuracy"))
}

func labels(ticks []tick) (out []string) {
	for _, x := range ticks {
		out = append(out, x.Label)
	}
	return out
}

func csvOf(t *testing.T, v content, name string) string {
	t.Helper()
	out, err := tableOf(v, name)
	require.NoError(t, err)
	return string(out)
}

// TestAccuracyHasItsRows: the number of rows always, and below a thousand the interval.
func TestAccuracyHasItsRows(t *testing.T) {
	one, most := 1.0, 0.975
	require.Equal(t, "100.00 % of 28 rows (95 % interval 87.9 to 100.0 %)",
		accuracyText(chainview.Point{Accuracy: &one, Examples: 28}))
	require.Equal(t, "97.50 % of 10,000 rows", accuracyText(chainview.Point{Accuracy: &most, Examples: 10_000}))
	require.Equal(t, "97.50 %", accuracyText(chainview.Point{Accuracy: &most}))
	require.Equal(t, "-", accuracyText(chainview.Point{}))
	low, high := interval(0, 10)
	require.Zero(t, low)
	require.InDelta(t, 0.2775, high, 1e-3)
	require.Equal(t, []string{"7", "999", "1,000", "1,234,567"},
		[]string{grouped(7), grouped(999), grouped(1000), grouped(1234567)})
}

// TestHomeSaysHowLong: progress, the pace of the last rounds, and who leads now.
func TestHomeSaysHowLong(t *testing.T) {
	page := get(over(t, newFake(12, "node"), Options{}), "/").Body.String()
	box := between(t, page, `id="progress"`, "</div>")
	require.Contains(t, box, "12 of 100 rounds</strong>, 1.0 s a round; about 88 s left.")
	require.Contains(t, box, "<bdi>node</bdi> (#3)</a> leads round 12")
	require.Contains(t, box, `aria-label="12 of 100 rounds are closed"`)
	require.Contains(t, page, `id="news" role="status"`)
}

// TestRoundsWithTrouble: the filter keeps rounds in which something was wrong, also round 0, for
// which participant 3 is convicted, and a member that was
// absent before is no news.
func TestRoundsWithTrouble(t *testing.T) {
	s := over(t, newFake(60, "x"), Options{})
	s.tail.mu.Lock()
	for i := range s.tail.points {
		p := &s.tail.points[i]
		p.Opposed, p.Passed = nil, nil
		if p.Round >= 20 {
			p.Members = p.Members[:3]
		}
		if p.Round == 7 {
			p.Refused = []uint32{2}
		}
	}
	s.tail.mu.Unlock()
	page := get(s, "/rounds?trouble=1").Body.String()
	for _, p := range s.tail.points {
		row := `<th scope="row"><a href="/round/0/` + strings.TrimSpace(labelOf(p.Round)) + `">`
		require.Equal(t, p.Round == 0 || p.Round == 7 || p.Round == 20, strings.Contains(page, row), p.Round)
	}
	require.Contains(t, page, "All rounds")
}

func labelOf(round uint64) string {
	return strings.TrimPrefix(chainview.RoundsText([]uint64{round}), "round ")
}

// TestTablesAreServed: each chart leads to its values, and what is no table is not found.
func TestTablesAreServed(t *testing.T) {
	s := over(t, newFake(12, "=cmd()"), Options{})
	for path, lines := range map[string]int{"/training/epsilon.csv": 1, "/participant/3/reputation.csv": 13} {
		w := get(s, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, lines, strings.Count(w.Body.String(), "\n"), path)
		require.Contains(t, w.Header().Get("Content-Disposition"), strings.ReplaceAll(path[1:], "/", "-"))
		require.NotContains(t, w.Body.String(), "cmd", "no text of the chain is in a file for spreadsheets")
	}
	for _, path := range []string{"/training/nothing.csv", "/round/0/4/fates.csv", "/training/accuracy", "/rounds/x",
		"/training/..csv"} {
		require.Equal(t, http.StatusNotFound, get(s, path).Code, path)
	}
}

// TestGlossary: it explains reputation where the word stands, and has a page.
func TestGlossary(t *testing.T) {
	_, err := termOf("nonsense")
	require.ErrorContains(t, err, "not in the glossary")
	s := over(t, newFake(6, "x"), Options{})
	require.Contains(t, get(s, "/participants").Body.String(), `<dfn class="term" tabindex="0" `+
		`data-means="From 0 to 1. It counts opposition to Delta and failures to lead, not exclusion`)
	require.Equal(t, len(glossary), strings.Count(get(s, "/terms").Body.String(), "<dt>"))
}

// TestParticipantsAreSorted: by the order of the address, and by trouble without one.
func TestParticipantsAreSorted(t *testing.T) {
	s := crowdOf(t, 30)
	first := func(path string) string {
		return between(t, between(t, get(s, path).Body.String(), "<tbody>", "</tr>"), "<bdi>", "</bdi>")
	}
	require.Equal(t, "member-3.", first("/participants"), "of whom an offence is proven")
	require.Equal(t, "member-0.", first("/participants?sort=number"))
	require.Equal(t, "member-0.", first("/participants?sort=reputation"))
	require.Equal(t, http.StatusBadRequest, get(s, "/participants?sort=x").Code)
}

// TestReputations: the home page has a line for each participant, names those with an alarm, and
// gives the values.
func TestReputations(t *testing.T) {
	s := over(t, newFake(12, "x"), Options{})
	page := get(s, "/").Body.String()
	figure := between(t, page, `<figure id="chart-reputation"`, "</figure>")
	require.Equal(t, 4+1, strings.Count(figure, "<polyline"), "the lines, and the key of the one with a name")
	require.Contains(t, figure, `class="of-suspect"`)
	require.Contains(t, figure, "<bdi>#3 ")
	require.NotContains(t, figure, "<bdi>#0 ", "nothing is against it")
	rows := get(s, "/training/reputation.csv").Body.String()
	require.Equal(t, 1+4*12, strings.Count(rows, "\n"), rows)
}

// TestSuggestions: each answer while one types is found by its query alone.
func TestSuggestions(t *testing.T) {
	s := over(t, newFake(12, "x"), Options{})
	for q, n := range map[string]int{"2": 3, "x": 4, "p3": 1, "0/4": 1, "nothing": 0, "": 0} {
		var found []struct{ Query, Path string }
		require.NoError(t, json.Unmarshal(get(s, "/v1/search?q="+q).Body.Bytes(), &found), q)
		require.Len(t, found, n, q)
		for _, x := range found {
			w := get(s, "/search?q="+url.QueryEscape(x.Query))
			require.Equal(t, http.StatusSeeOther, w.Code, x.Query)
			require.Equal(t, x.Path, w.Header().Get("Location"))
		}
	}
}

// TestSharedAxis: charts of the same rounds have the same x axis, though some rounds lack a value, and
// a line begins where its values do.
func TestSharedAxis(t *testing.T) {
	half, epsilon := 0.5, 1.0
	points := make([]chainview.Point, 60)
	for i := range points {
		points[i] = chainview.Point{Round: uint64(i), Epsilon: &epsilon}
		if i >= 30 {
			points[i].Accuracy = &half
		}
	}
	accuracy, _, spent := chartsOf(points, 2)
	require.Equal(t, spent.Rounds, accuracy.Rounds)
	require.Equal(t, "0", accuracy.Rounds[0].Label)
	require.True(t, strings.HasPrefix(accuracy.Points, fmt.Sprintf("%.1f,", accuracy.across(30))))
	require.True(t, strings.HasPrefix(accuracy.Area, fmt.Sprintf("%.1f,", accuracy.across(30))))
	few := thinned(points, 7)
	require.Len(t, few, 7)
	require.Equal(t, []uint64{0, 59}, []uint64{few[0].Round, few[6].Round})
	require.Len(t, thinned(points, 100), 60)
}
