package explorer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestErrorsInPlainWords: a page of an error says what is missing, offers to search, and is not fetched
// again at each height.
func TestErrorsInPlainWords(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	for path, want := range map[string]string{
		"/nothing": "There is no page at this address", "/round/0/999": "does not have round 0/999: it is not closed yet",
		"/participant/99": "No participant has the number 99", "/search?q=nobody": "Nothing is known of",
		"/tx/" + strings.Repeat("ee", 32): "No transaction with this hash", "/block/x": "This address is not understood",
	} {
		page := get(s, path).Body.String()
		require.Contains(t, page, want, path)
		require.Contains(t, page, `<label for="find">`, path)
		require.NotContains(t, page, "data-live", path)
		require.NotContains(t, page, "no such thing", path)
	}
	require.Contains(t, get(s, "/").Body.String(), "data-live")
	w := get(s, "/nothing", func(r *http.Request) { r.Method = http.MethodPost })
	require.Contains(t, w.Body.String(), "Nothing is written here: GET only.")
	w = get(s, "/v1/rounds/999")
	require.Contains(t, w.Body.String(), `{"error":"this node does not have it: `)
}

// TestRoundOfTheRunningEpoch: the address of a round without an epoch, or latest, leads to that of the running epoch.
func TestRoundOfTheRunningEpoch(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	for path, to := range map[string]string{"/round/3": "/round/0/3", "/round/latest": "/round/0/5"} {
		w := get(s, path)
		require.Equal(t, http.StatusSeeOther, w.Code, path)
		require.Equal(t, to, w.Header().Get("Location"))
		require.Equal(t, http.StatusOK, get(s, to).Code)
	}
	require.Equal(t, http.StatusBadRequest, get(s, "/round/x").Code)
}
