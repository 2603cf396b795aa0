package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// crowdOf is a fake of many participants, of whom the last is opposed in every round.
func crowdOf(t *testing.T, n uint32) *Server {
	t.Helper()
	people := []app.Participant{}
	for i := range n {
		people = append(people, app.Participant{Index: i, Moniker: fmt.Sprintf("member-%d.", i),
			Address: fmt.Sprintf("host%d:1", i), Id: []byte{byte(i)}, Active: true,
			Reputation: params.One * int64(i) / int64(n)})
	}
	return overChanged(t, newFake(30, "x"), func(_ string, answer any) {
		switch x := answer.(type) {
		case *[]app.Participant:
			*x = people
		case *app.Record:
			round := x.Round
			*x = app.Record{Round: round, Opened: round + 1, Height: round + 2, Rule: "x", DeltaDigest: make([]byte, 32),
				ModelHash: make([]byte, 32)}
			for i := range n {
				x.Contributions = append(x.Contributions, app.Contribution{Participant: i, Selected: (uint64(i)+round)%3 > 0,
					Opposed: i == n-1, Score: 1 + int64(i), VrfOutput: make([]byte, 64)})
				x.Ranking = append(x.Ranking, i)
			}
		}
	})
}

// TestCrowd: with a thousand participants no page is larger than 150 kB, each participant that
// matters is on the first one, and all are on one of them.
func TestCrowd(t *testing.T) {
	const n = 1000
	s := crowdOf(t, n)
	for _, path := range []string{"/", "/participants", "/round/0/7", "/rounds", "/evidence"} {
		w := get(s, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Less(t, w.Body.Len(), 150_000, path)
		if path != "/rounds" && path != "/evidence" {
			require.Contains(t, w.Body.String(), "member-999.", path)
		}
	}
	home := get(s, "/").Body.String()
	require.Contains(t, home, "20 of 1000 participants")
	seen := map[string]bool{}
	for page := range n / 100 {
		text := get(s, fmt.Sprintf("/participants?page=%d", page+1)).Body.String()
		for i := range n {
			if name := fmt.Sprintf("member-%d.", i); strings.Contains(text, name) {
				seen[name] = true
			}
		}
	}
	require.Len(t, seen, n)
	for query, want := range map[string]string{"member-77.": "member-77.", "HOST812": "member-812.", "5": "member-5."} {
		require.Contains(t, get(s, "/participants?q="+query).Body.String(), want)
	}
	require.NotContains(t, get(s, "/participants?q=host812").Body.String(), "member-999.")
	require.Contains(t, get(s, "/participants?q=nobody").Body.String(), "No participant has that")
	require.Contains(t, get(s, "/participants?q=member&page=2").Body.String(), "page=3&amp;q=member")
	require.Equal(t, http.StatusBadRequest, get(s, "/participants?page=x").Code)
}

// TestShortLists: what a round's line and a status say of a thousand participants is as short as
// other answers, counts the rest, and a request for more rounds than there can be is refused.
func TestShortLists(t *testing.T) {
	s := crowdOf(t, 1000)
	var points []chainview.Point
	require.NoError(t, json.Unmarshal(get(s, "/v1/rounds?limit=1").Body.Bytes(), &points))
	require.Len(t, points, 1)
	require.Len(t, points[0].LeftOut, usual)
	now, err := s.chain.Now()
	require.NoError(t, err)
	whole := now.Points[len(now.Points)-1]
	require.Equal(t, len(whole.LeftOut)-usual, points[0].More)
	require.Greater(t, len(whole.LeftOut), usual, "what the pages show is whole")
	_, text, ok := strings.Cut(string(event("status", query.Status{Ranking: make([]uint32, 1000)})), "data: ")
	require.True(t, ok)
	var status query.Status
	require.NoError(t, json.Unmarshal([]byte(text), &status))
	require.Len(t, status.Ranking, usual)
	w := get(s, "/v1/rounds?limit=1025")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "limit 1025, at most 1024 rounds")
}

// TestWindows: lists by participant come in parts of at most a thousand, a hundred unless one asks
// for more, and the parts are the whole.
func TestWindows(t *testing.T) {
	s := crowdOf(t, 250)
	for _, path := range []string{"/v1/participants", "/v1/rounds/0/7"} {
		var all []uint32
		for from, part := 0, 1; part > 0; {
			body := get(s, fmt.Sprintf("%s?limit=120&from=%d", path, from)).Body.Bytes()
			var people []struct{ Index uint32 }
			if path != "/v1/participants" {
				var story struct {
					Verdicts []struct{ Participant uint32 }
				}
				require.NoError(t, json.Unmarshal(body, &story))
				for _, v := range story.Verdicts {
					people = append(people, struct{ Index uint32 }{v.Participant})
				}
			} else {
				require.NoError(t, json.Unmarshal(body, &people))
			}
			for _, p := range people {
				all = append(all, p.Index)
			}
			if part = len(people); part > 0 {
				from = int(all[len(all)-1]) + 1
			}
		}
		require.Len(t, all, 250, path)
		require.IsIncreasing(t, all)
		require.Equal(t, http.StatusBadRequest, get(s, path+"?limit=1001").Code)
		require.Contains(t, get(s, path+"?limit=1001").Body.String(), "limit 1001, at most 1000 participants")
		require.Equal(t, http.StatusBadRequest, get(s, path+"?from=-1").Code)
	}
	var few []Person
	require.NoError(t, json.Unmarshal(get(s, "/v1/participants").Body.Bytes(), &few))
	require.Len(t, few, usual)
}
