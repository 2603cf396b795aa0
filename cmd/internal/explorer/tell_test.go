package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestALostNodeShowsTheLastKnownPage: while the node does not answer, a page that was shown before
// is shown again and says so, and the others say that they are not known.
func TestALostNodeShowsTheLastKnownPage(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	require.Equal(t, http.StatusOK, get(s, "/participants").Code)
	require.NotContains(t, get(s, "/participants").Body.String(), "Lost.")
	events, end := s.chain.Subscribe()
	defer end()
	<-events
	f.set(func() { f.down = true })
	s.chain.See(t.Context())
	require.Contains(t, string(<-events), `"lost":true`)
	w := get(s, "/participants")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "Lost.")
	require.Contains(t, w.Body.String(), "known at height 7")
	require.Contains(t, w.Body.String(), "Standing of the participants")
	require.Equal(t, http.StatusBadGateway, get(s, "/evidence").Code)
	f.set(func() { f.down = false })
	s.chain.See(t.Context())
	require.Contains(t, string(<-events), `"lost":false`)
	require.NotContains(t, get(s, "/participants").Body.String(), "Lost.")
}

// TestRoundsShowWhatIsKnown: the list has the epsilon of the history and the time of each block.
func TestRoundsShowWhatIsKnown(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	f.set(func() { f.rounds++ })
	require.NoError(t, s.chain.Look(t.Context()))
	page := get(s, "/rounds").Body.String()
	row := between(t, page, `<a href="/round/0/6">6</a>`, "</tr>")
	require.Contains(t, row, `<td data-l="epsilon" class="n">0.500</td>`)
	require.Contains(t, row, `<small class="clock">00:00:08 UTC</small>`, "closed at height 8")
	require.Contains(t, row, "days ago</time>")
}

// between returns the part of a text from one text to the next other one.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	require.True(t, found, from)
	text, _, found = strings.Cut(text, to)
	require.True(t, found, to)
	return text
}

// TestUptime: who did not sign is marked, and a commit that cannot change is asked for once.
func TestUptime(t *testing.T) {
	f := newFake(6, "moniker")
	s := over(t, f, Options{})
	page := get(s, "/validators").Body.String()
	require.Equal(t, 3, strings.Count(page, `class="n">100 %</td><td data-l="late" class="n zero">0</td>`+
		`<td data-l="absent" class="n zero">0</td>`))
	require.Equal(t, 1, strings.Count(page, `<td data-l="late" class="n zero">0</td><td data-l="absent" class="n">4</td>`))
	require.Equal(t, 1, strings.Count(page, `<span class="tag watch">`))
	require.Contains(t, page, `<span class="tag watch">0 %</span>`)
	require.Contains(t, page, "25.0 % <small>(10)</small>")
	asked := f.asked["commit"]
	get(s, "/validators?page=1")
	require.Equal(t, asked, f.asked["commit"])
}

// TestNotYetAMember: a member that joined later is not absent from the rounds before.
func TestNotYetAMember(t *testing.T) {
	f := newFake(6, "x")
	r := f.record(2)
	r.Contributions = r.Contributions[:2]
	people := f.people()
	people[2].Joined = 4
	all := chainview.Verdicts(&r, people, nil, nil)
	require.Equal(t, chainview.NotYet, all[2].Fate)
	require.Equal(t, chainview.Absent, all[3].Fate)
	r.Height = r.Opened + 2
	require.Equal(t, fmt.Sprintf("No gradient of it is in block %d, which closed the round.", r.Height),
		chainview.Verdicts(&r, people, nil, nil)[3].Why, "nothing in a record says that the round waited for it")
}

// TestLinksToTransactions: a round's gradients and its aggregate lead to their transactions, whose
// hashes the node's index has.
func TestLinksToTransactions(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	require.Contains(t, get(s, "/round/0/4").Body.String(), `href="/round/0/4/gradient/3"`)
	w := get(s, "/round/0/4/gradient/3")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/tx/"+strings.Repeat("00", 31)+"67", w.Header().Get("Location"))
	require.Equal(t, "/tx/"+strings.Repeat("00", 31)+"61", get(s, "/round/0/4/aggregate").Header().Get("Location"))
	require.Equal(t, http.StatusNotFound, get(s, "/round/0/4/gradient/2").Code)
	require.Equal(t, http.StatusNotFound, get(s, "/round/0/9/gradient/3").Code)
	require.Equal(t, http.StatusBadRequest, get(s, "/round/0/4/gradient/x").Code)
}
