package watch

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
)

// TestStatusText: the status has the age of the last block and the peers, and says what an old block means; without
// CometBFT's answers both lines are left out.
func TestStatusText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at, peers := now.Add(-2400*time.Millisecond), 3
	text := func(s chainStatus) string {
		var b strings.Builder
		s.text(&b, now)
		return b.String()
	}
	s := chainStatus{Status: query.Status{ChainID: "c", Height: 7}, LastBlock: &at, Peers: &peers}
	got := text(s)
	require.Contains(t, got, "height        7\nlast block    2s ago\napp hash ")
	require.Contains(t, got, "peers         3 connected\n")

	at = now.Add(-client.Overdue - time.Second)
	require.Contains(t, text(s), "last block    21s ago: the chain stands, or this node alone (spdl doctor")
	s.Votes = &client.Votes{Silent: []string{`2 "carol"`, `3 "dave"`}, All: 4}
	require.Contains(t, text(s), `last block    21s ago: No quorum: 2 of 4 validators vote, not 2 "carol", 3 "dave"`)
	s.CatchingUp = true
	require.Contains(t, text(s), "last block    21s ago: the node fetches the blocks that it lacks\n")

	gap, remedy := query.Connections{MissingBlock: 23, OldestBlock: 42}.Gap()
	s.Gap = gap + ": " + remedy
	require.Contains(t, text(s), "last block    21s ago: no peer has block 23, which this node needs next: the oldest "+
		"that they keep is 42")
	require.Contains(t, text(s), "spdl reset-state --yes, then CMT_STATESYNC_ENABLE=true")

	s.Home = &query.Home{Convicted: "duplicate vote at height 7, proven at height 9"}
	require.Contains(t, text(s), "convicted     duplicate vote at height 7, proven at height 9: the reputation of")
	s.Home = &query.Home{Resting: true}
	require.Contains(t, text(s), "resting       rounds close without waiting")
	require.Contains(t, text(s), "no later round of this epoch waits for it")

	s = chainStatus{Status: s.Status}
	require.NotContains(t, text(s), "last block")
	s.Votes = &client.Votes{Silent: []string{`2 "carol"`, `3 "dave"`}, All: 4}
	require.Contains(t, text(s), `last block    none: No quorum: 2 of 4 validators vote, not 2 "carol", 3 "dave"`)
	require.NotContains(t, text(s), "peers")
	peers, s.Peers, s.hint = 0, &peers, "they close"
	require.Contains(t, text(s), "peers         0 connected: they close\n")
}

// TestVotes: votes asks who votes from client.Overdue on, as --watch does.
func TestVotes(t *testing.T) {
	answers := map[string]string{
		"abci_query":      `{"response":{"value":"W10="}}`, // no participants
		"consensus_state": `{"round_state":{"height_vote_set":[{"prevotes":["Vote{0:AB}","nil-Vote"]}]}}`,
		"validators":      `{"total":"2","validators":[{"address":"AA"},{"address":"BB"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + answers[q.Method] + `}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	recent, old := time.Now().Add(time.Second-client.Overdue), time.Now().Add(-time.Second-client.Overdue)
	require.Nil(t, votes(t.Context(), c, &recent, false))
	require.Nil(t, votes(t.Context(), c, &old, true))
	const lost = "No quorum: 1 of 2 validators vote, not BB, and a block takes more than two thirds"
	require.Equal(t, lost, votes(t.Context(), c, &old, false).Standstill())
	require.Equal(t, lost, votes(t.Context(), c, nil, false).Standstill(), "a chain that never began")
	answers["consensus_state"] = strings.Replace(answers["consensus_state"], `{"height_`,
		`{"height/round/step":"78/0/1","start_time":"`+time.Now().Format(time.RFC3339)+`","height_`, 1)
	require.Nil(t, votes(t.Context(), c, nil, false), "the node has just begun")
	require.Equal(t, lost, votes(t.Context(), c, &old, false).Standstill())
	answers["abci_query"] = `{"response":{"value":"eyJwZWVyX2hlaWdodCI6OTB9"}}` // {"peer_height":90}
	require.Equal(t, "The node fetches blocks: it lacks block 78, and its peers have block 90",
		votes(t.Context(), c, &old, false).Standstill())
	delete(answers, "consensus_state")
	require.Nil(t, votes(t.Context(), c, &old, false))
}

// TestBlockOfSlowSteps: a chain whose round waits for the node's own step does not stand.
func TestBlockOfSlowSteps(t *testing.T) {
	now := time.Now()
	old := now.Add(-45 * time.Second)
	s := chainStatus{LastBlock: &old}
	s.Home = &query.Home{Step: "computing a gradient for 13s (round 0; a round waits 33.56s)"}
	require.Equal(t, "last block    45s ago: the round waits for gradients\n", s.blockText(now))
	s.Home.Worker = query.WorkerFails
	require.Contains(t, s.blockText(now), "the chain stands")
}
