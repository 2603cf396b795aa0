package explorer

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
