package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestWatchHostile: whatever a node and its participants call themselves, a look has its own lines alone, and
// no control sequence.
func TestWatchHostile(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;owned\x07\r\n\u202Eevil\u0301\u0301\u200b\x9b31m\xff" + strings.Repeat("x", 500)
	epsilon, left := 0.5, uint64(3)
	g := &Glance{
		At: time.Unix(0, 0).UTC(), Moniker: hostile, Unreachable: hostile,
		Status: query.Status{ChainID: hostile, Rule: hostile, Round: 1 << 60, Rounds: 1},
		Last:   &app.Record{Contributions: []app.Contribution{{Participant: 0, Selected: true, Opposed: true}}},
		Standings: []query.Standing{
			{Participant: 0, Moniker: hostile, Reputation: 500_000}, {Participant: 1, Moniker: "\n\n\n"},
			{Participant: 7, Moniker: "\t|\v"},
		},
		Refused: []query.Rejection{{Signed: true, Participant: 7, Reason: hostile}},
		Spend:   []query.Spend{{Participant: 0, Moniker: hostile, Epsilon: &epsilon, Left: &left, Budget: 2}},
	}
	g.Trouble = []Trouble{{0, 2, []string{hostile, hostile}}}
	var out strings.Builder
	g.text(&out)
	for _, r := range out.String() {
		require.True(t, unicode.IsPrint(r) && !unicode.IsMark(r) || r == '\n', "%q in %q", r, out.String())
	}
	require.Equal(t, 4+len(g.Trouble)+4, strings.Count(out.String(), "\n"), out.String())
	for _, line := range strings.Split(out.String(), "\n") {
		require.Less(t, len([]rune(line)), 400)
	}
	require.Contains(t, out.String(), "selected, opposed")
	require.Contains(t, out.String(), "NO ANSWER")
}

// TestManyParticipants: of 130 participants those in trouble are shown, and the last line says where the
// others are.
func TestManyParticipants(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 5, Rounds: 9, Participants: 130}, Last: &app.Record{Round: 4}}
	for i := range uint32(130) {
		g.Standings = append(g.Standings, query.Standing{Participant: i, Moniker: fmt.Sprintf("node%d.", i),
			Reputation: params.One})
		g.Last.Contributions = append(g.Last.Contributions, app.Contribution{Participant: i, Selected: true,
			Opposed: i == 117})
	}
	g.Trouble = []Trouble{{117, 2, []string{"opposed to Delta in 4 of 5"}}}
	var out strings.Builder
	g.text(&out)
	require.Contains(t, out.String(), "! 117  node117.")
	require.NotContains(t, out.String(), "node129.")
	require.Contains(t, out.String(), "130 selected, 0 left out, 1 opposed, 0 rejected, 0 absent")
	require.Contains(t, out.String(), "and 90 more: spdl query participants")
}

// TestRoundTook: the time of a round is the median of the last ones, whatever one stop took.
func TestRoundTook(t *testing.T) {
	at := time.Unix(10000, 0)
	var times []time.Time
	for round := range 12 {
		if times, at = append(times, at), at.Add(-2*time.Second); round == 8 {
			at = at.Add(-time.Hour)
		}
	}
	require.Equal(t, 2.0, median(times))
	require.Zero(t, median(times[:1]))
}

// TestTimeLeft: the rounds that are left, at the pace of the last ones.
func TestTimeLeft(t *testing.T) {
	for text, g := range map[string]*Glance{
		"   about 1m30s left, 1.5 s a round": {RoundTook: 1.5, Status: query.Status{Round: 40, Rounds: 100}},
		"   about 3h0m0s left, 60 s a round": {RoundTook: 60, Status: query.Status{Rounds: 180}},
		"   years left":                      {RoundTook: 3600, Status: query.Status{Rounds: 1 << 62}},
		"":                                   {Status: query.Status{Round: 40, Rounds: 100}},
	} {
		require.Equal(t, text, g.timeLeft())
	}
}

// TestFirst: the first lines say whether the net and this node work, how long the training takes and who is in
// trouble, in this order, before the last round.
func TestFirst(t *testing.T) {
	g := &Glance{At: time.Unix(0, 0).UTC(), Unreachable: "refused", RoundTook: 1, Status: query.Status{Round: 3,
		Rounds: 10, Participants: 4, Home: &query.Home{Worker: query.WorkerStopped}},
		Votes: &client.Votes{Silent: []string{`2 "c"`, `3 "d"`}, All: 4}, Last: &app.Record{Round: 2}}
	said := func(wants ...string) string {
		var out strings.Builder
		g.text(&out)
		at := 0
		for _, want := range wants {
			i := strings.Index(out.String()[at:], want)
			require.GreaterOrEqual(t, i, 0, "%s in %s", want, out.String())
			at += i
		}
		return out.String()
	}
	text := said("NO BLOCK", "NO ANSWER since 00:00:00, old figures: refused",
		`No quorum: 2 of 4 validators vote, not 2 "c", 3 "d"`, "this node: no peer", "this node: worker stopped",
		"3 of 10 rounds closed", "last closed")
	require.NotContains(t, text, " left, ", "nobody knows when the next block comes")
	require.NotContains(t, text, "no participant is in trouble")
	g.Votes, g.Unreachable, g.Status.Home = nil, "", nil
	require.Empty(t, g.alarms())
	said("3 of 10 rounds closed", "about 7s left", "no participant is in trouble", "last closed")
}

// TestAgainst: status --watch judges as the explorer and the report do, and says of a proven offence what it was. Those
// with the gravest trouble come first, also in the table.
func TestAgainst(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 20, Rounds: 30, Participants: 5}, Offences: []app.Offence{
		{Participant: 4, Kind: 1, Round: 2, Height: 9}}}
	var people []app.Participant
	for i, reputation := range []int64{params.One, params.One, params.One, 0, 0, params.One} {
		people = append(people, app.Participant{Index: uint32(i), Moniker: fmt.Sprintf("node%d", i), Active: i < 5,
			Reputation: reputation, PassedOver: []uint32{0, 2, 0, 0, 0, 7}[i]})
		g.Standings = append(g.Standings, query.Standing{Participant: uint32(i), Moniker: people[i].Moniker,
			Reputation: reputation})
	}
	var points []chainview.Point
	for round := range uint64(20) {
		r := app.Record{Round: round, Rule: "median", Contributions: []app.Contribution{{Participant: 0, Selected: true},
			{Participant: 1, Selected: round%2 == 0}, {Participant: 3, Opposed: round < 7, Selected: true},
			{Participant: 4, Selected: true}}}
		if round < 13 {
			r.Contributions = slices.Insert(r.Contributions, 2, app.Contribution{Participant: 2, Selected: true})
		}
		points, g.Last = append(points, chainview.PointOf(&r)), &r
	}
	g.Trouble = g.troubles(chainview.Standings(people, g.Offences, points, 0))
	require.Len(t, g.Trouble, 4, "who has left is in nobody's way")
	for i, want := range []Trouble{
		{4, 3, []string{"proven offence in block 9: two different statements (gradient) for round 2", "reputation 0"}},
		{3, 2, []string{"reputation 0", "opposed to Delta in 7 of 20", chainview.Doubt}},
		{1, 1, []string{"passed over as leader 2 times more than it led since"}},
		{2, 1, []string{"absent in 7 of 20"}},
	} {
		require.Equal(t, want, g.Trouble[i])
	}
	var out strings.Builder
	g.text(&out)
	require.Contains(t, out.String(), "\nagainst 3 node3: reputation 0; opposed to Delta in 7 of 20; "+
		chainview.Doubt+"\n")
	require.Contains(t, out.String(), "4 included: 3 selected, 1 left out, 0 opposed, 0 rejected, 2 absent\n")
	table := strings.Split(strings.TrimSpace(out.String()[strings.Index(out.String(), "\n#"):]), "\n")
	for i, row := range []string{"#  ", "!! 4 ", "! 3 ", "! 1 ", "! 2 ", "0 ", "5 "} {
		require.True(t, strings.HasPrefix(table[i], row), table[i])
	}
}
