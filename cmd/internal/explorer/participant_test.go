package explorer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// TestProvenOffence: the round that lost the reputation to it says so and is a row of its own.
func TestProvenOffence(t *testing.T) {
	s := over(t, newFake(12, "x"), Options{}) // participant 3: two gradients for round 0, proven in block 2
	page := get(s, "/participant/3").Body.String()
	rows := between(t, page, `id="history"`, "</table>")
	require.Contains(t, rows, "Two different statements of it for this round (gradient) are proven in block 2.")
	require.Contains(t, rows, "the evidence in block 2 set it to 0")
	require.Equal(t, 2, strings.Count(rows, "<tr class"), "round 0, whose block has the evidence, and the rest")

	require.Contains(t, get(s, "/round/0/0").Body.String(), "✕ offence")
	require.NotContains(t, get(s, "/round/0/1").Body.String(), "✕ offence")
	require.Contains(t, get(s, "/round/0/0").Body.String(), "the evidence in block 2 set it to 0")
	require.NotContains(t, get(s, "/round/0/1").Body.String(), "the evidence in block 2 set it to 0")
	require.Equal(t, 1, strings.Count(get(s, "/rounds").Body.String(), "✕ offence"))
}
