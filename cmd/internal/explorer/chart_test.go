package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/docs"
)

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
	s := overChanged(t, newFake(60, "x"), func(_ string, answer any) {
		switch x := answer.(type) {
		case *app.Record:
			x.View, x.Contributions[3].Opposed = 0, false
			if x.Round >= 20 {
				x.Contributions = x.Contributions[:3]
			}
			if x.Round == 7 {
				x.Contributions = x.Contributions[1:]
			}
		case *[]query.Rejection:
			*x = []query.Rejection{{Round: 7, Participant: 0, Signed: true, Count: 1}}
		}
	})
	page := get(s, "/rounds?trouble=1").Body.String()
	for round := range uint64(60) {
		row := fmt.Sprintf(`<th scope="row"><a href="/round/0/%d">`, round)
		require.Equal(t, round == 0 || round == 7 || round == 20, strings.Contains(page, row), round)
	}
	require.Contains(t, page, "All rounds")
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
	s := over(t, newFake(6, "x"), Options{})
	require.Contains(t, get(s, "/participants").Body.String(), `<dfn class="term" tabindex="0" `+
		`data-means="From 0 to 1. It counts opposition to Delta and failures to lead, not exclusion`)
	require.Equal(t, len(docs.Glossary()), strings.Count(get(s, "/terms").Body.String(), "<dt>"))
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
