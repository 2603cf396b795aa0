package watch

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestMembershipTables: approvals are votes with names and not indices, votes of participants that
// left do not count, columns without a value are left out, and no name can forge a line.
func TestMembershipTables(t *testing.T) {
	m := query.Membership{Threshold: 3, Members: []query.Member{
		{Index: 0, ID: "00", Moniker: "alice", Active: true, Validator: true},
		{Index: 1, ID: "01", Moniker: "bob\nmallory", Active: true, Joined: 100},
		{Index: 2, ID: "02", Moniker: "carol", Joined: 7},
	}, Proposals: []query.Proposal{
		{ID: "aa", Kind: "remove", Height: 9, Approvals: []uint32{1, 0, 2}, About: "0 proposes to remove 1"},
		{ID: "bb", Kind: "remove", Accepted: true, About: "leave of 0"},
	}}
	var b strings.Builder
	at := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	past := []chainview.Decided{
		{Proposal: chainview.Proposal{Kind: "remove"}, Outcome: chainview.Outcome{State: chainview.Enacted, At: 9, Who: "2"},
			Time: &at},
		{Proposal: chainview.Proposal{Kind: "join"}, Outcome: chainview.Outcome{State: chainview.Enacted, At: 5, Who: "1"}},
		{Proposal: chainview.Proposal{Kind: "remove"}, Outcome: chainview.Outcome{State: chainview.Dropped, Who: "0"}},
	}
	printMembers(&b, m.Members, past, true)
	require.Equal(t, "index\tid\tmoniker\tvalidator\tjoined\tleft\n0\t00\talice\ttrue\tgenesis\t-\n"+
		"1\t01\t\"bob\\nmallory\"\tfalse\theight 5\t-\n"+
		"2\t02\tcarol\tfalse\tgenesis\theight 9, 2026-11-02 03:04:05 UTC\n", b.String())
	b.Reset()
	printMembers(&b, m.Members[2:], nil, false)
	require.Contains(t, b.String(), "\t-\tyes\n")
	m.Members[0].Address = "a:1"
	b.Reset()
	printMembers(&b, m.Members, nil, false)
	require.Contains(t, b.String(), "left\taddress\n")
	require.Contains(t, b.String(), "\t\"a:1\"\n")
	b.Reset()
	printProposals(&b, governed(m, params.Params{}).Governance)
	require.Contains(t, b.String(), "\taa\tremove\t9\t2 of 3: alice, \"bob\\nmallory\"\topen\t"[1:])
	require.Contains(t, b.String(), "bb\tremove\t0\tnone needed\taccepted\tleave of alice (#0)\n")
	require.Contains(t, b.String(), "open\talice (#0) proposes to remove \"bob\\nmallory\" (#1)\n")
	b.Reset()
	printProposals(&b, chainview.Governance{})
	require.Empty(t, b.String())
}

// TestProposals: an open proposal says whose approval is missing and the command of the next step, a
// decided one what became of it and when.
func TestProposals(t *testing.T) {
	m := query.Membership{Threshold: 2, Participants: 2, Members: []query.Member{
		{Index: 0, Moniker: "alice", Active: true}, {Index: 1, Moniker: "bob", Active: true}, {Index: 2, Moniker: "carol"}}}
	text := func(p proposals) string {
		var b strings.Builder
		p.text(&b)
		return b.String()
	}
	running := params.Params{}
	require.Contains(t, text(governed(m, running)), "no proposal is open")
	m.Proposals = []query.Proposal{{ID: "abcdef0123", Kind: "remove", Height: 7, Expires: 99, Approvals: []uint32{0},
		About: "it"}}
	require.Contains(t, text(governed(m, running)), "changes    unknown: proposal",
		"a node that leaves the content out hides nothing")
	body := &tx.Remove{Participant: 0, Subject: 1, Nonce: 1}
	content, err := body.Marshal()
	require.NoError(t, err)
	id := tx.IDOf(tx.KindRemove, content)
	m.Proposals[0].Content, m.Proposals[0].ID = content, hex.EncodeToString(id[:])
	p := governed(m, running)
	p.Open[0].Title = "Remove bob (#1)"
	p.Past = []chainview.Decided{
		{Proposal: chainview.Proposal{ID: "0123456789", Title: "Admit dave"}, For: m.Members[:2],
			Outcome: chainview.Outcome{State: chainview.Rejected, At: 8, Why: "M6: too few"}},
		{Proposal: chainview.Proposal{ID: "1123456789"}, Outcome: chainview.Outcome{State: chainview.Dropped}},
		{Proposal: chainview.Proposal{ID: "2123456789"}, Outcome: chainview.Outcome{State: chainview.Withdrawn, At: 20}},
		{Proposal: chainview.Proposal{ID: "3123456789"}, Approvals: []uint32{0}, For: m.Members[:1],
			Outcome: chainview.Outcome{State: chainview.Expired, At: 30}},
	}
	out := text(p)
	for _, line := range []string{"about      Remove bob (#1), proposed at height 7\n",
		"approved   1 of 2: alice\nchanges    after it N is 1 (now 2) and f 0 (now 0)\nmissing    bob\n" +
			"expires    at height 99\n",
		"nobody any more  withdrawn at height 20\n", "alice            expired at height 30\n",
		"spdl tx approve " + m.Proposals[0].ID[:8] + "\n",
		"Admit dave  0            alice, bob       not possible at height 8: M6: too few\n", "dropped: too few approvals"} {
		require.Contains(t, out, line)
	}
	now := time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC)
	for made, says := range map[time.Duration]string{72 * time.Hour: ", 3 days ago", 90 * time.Second: ", 1m30s ago",
		-time.Second: ", 0s ago"} {
		at := now.Add(-made)
		require.Equal(t, says, age(&at, now))
	}
	require.Empty(t, age(nil, now))
}

// TestEpochChanges: an open proposal for an epoch shows each parameter that it changes, as text and
// as JSON.
func TestEpochChanges(t *testing.T) {
	running, err := preset.New("default", 4)
	require.NoError(t, err)
	next := running
	running.Training.LearningRate, next.Training.LearningRate, next.Rule.Byzantine = 30, 0.5, 0
	next.Privacy.Batch++
	body := app.NewStartEpoch(0, 1, 1, next, false, false)
	content, err := body.Marshal()
	require.NoError(t, err)
	id := tx.IDOf(tx.KindStartEpoch, content)
	m := query.Membership{Participants: 4, Byzantine: 1, Threshold: 3, Proposals: []query.Proposal{
		{ID: hex.EncodeToString(id[:]), Kind: "start-epoch", Content: content}}}
	p := governed(m, running)
	var b strings.Builder
	p.text(&b)
	require.Contains(t, b.String(), fmt.Sprintf("changes    privacy.batch %d -> %d examples\n"+
		"           rule.byzantine 1 -> 0 participants\n           training.learning_rate 30 -> 0.5\n",
		running.Privacy.Batch, next.Privacy.Batch))
	raw, err := json.Marshal(p.Open)
	require.NoError(t, err)
	require.Contains(t, string(raw), `{"name":"training.learning_rate","before":"30","after":"0.5"}`)
}

// governed returns a membership with its open proposals.
func governed(m query.Membership, running params.Params) proposals {
	return proposals{chainview.Governance{Membership: m, Open: chainview.OpenProposals(m, running, nil)}}
}
