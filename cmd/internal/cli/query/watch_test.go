package query

import (
	"fmt"
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
	g.Trouble = g.troubles()
	var out strings.Builder
	require.NoError(t, g.text(&out))
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
	g.recent = []app.Record{*g.Last}
	g.Trouble = g.troubles()
	var out strings.Builder
	require.NoError(t, g.text(&out))
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
		require.NoError(t, g.text(&out))
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

// TestTrouble: what stands against a participant beyond the last round counts, too.
func TestTrouble(t *testing.T) {
	selected := app.Contribution{Selected: true}
	for want, p := range map[int]query.Standing{
		0: {Reputation: params.One},
		1: {Reputation: params.One, PassedOver: 2},
		2: {Reputation: params.One/2 - 1},
		3: {Reputation: params.One, Offences: 1},
	} {
		require.Equal(t, want, trouble(p, &selected, chainview.Tally{}, false))
	}
}

// TestOneJudgement: missed turns as leader have the explorer's alarm and its reason, and one missed
// turn has neither a colour nor a reason.
func TestOneJudgement(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 9, Rounds: 9}, Last: &app.Record{Round: 8, Rule: "median"}}
	for i, passed := range []uint32{0, 1, 2, 7} {
		g.Standings = append(g.Standings, query.Standing{Participant: uint32(i), Moniker: fmt.Sprintf("node%d", i),
			Reputation: params.One, PassedOver: passed})
		g.Last.Contributions = append(g.Last.Contributions, app.Contribution{Participant: uint32(i), Selected: true})
	}
	g.Trouble = g.troubles()
	require.Equal(t, []Trouble{{2, 1, []string{"passed over as leader 2 times more than it led since"}},
		{3, 1, []string{"passed over as leader 7 times more than it led since"}}}, g.Trouble)
	for i, want := range []string{chainview.OK, chainview.OK, chainview.Watch, chainview.Watch} {
		alarm, reason := chainview.Leads(int(g.Standings[i].PassedOver))
		require.Equal(t, want, alarm)
		require.Equal(t, want == chainview.OK, reason == "")
	}
	require.Equal(t, []string{"against 2 node2: passed over as leader 2 times more than it led since",
		"against 3 node3: passed over as leader 7 times more than it led since"}, g.against())
}

// TestAgainst: what stands against a participant is said with its numbers, the gravest first, and in
// a table with those in trouble first; a gradient that was left out once is not said.
func TestAgainst(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 20, Rounds: 30, Participants: 5}, Offences: []app.Offence{
		{Participant: 4, Kind: 1, Round: 2, Height: 9}}, Standings: []query.Standing{
		{Participant: 0, Moniker: "node0", Reputation: params.One, Participations: 20},
		{Participant: 1, Moniker: "node1", Reputation: params.One, Participations: 20},
		{Participant: 2, Moniker: "node2", Reputation: params.One, Participations: 17},
		{Participant: 3, Moniker: "node3", Participations: 20},
		{Participant: 4, Moniker: "node4", Participations: 20, Offences: 1},
		{Participant: 5, Moniker: "new", Reputation: params.One},
	}}
	for round := range uint64(20) {
		r := app.Record{Round: round, Rule: "median", Contributions: []app.Contribution{{Participant: 0, Selected: true},
			{Participant: 1}, {Participant: 3, Opposed: round < 7, Selected: true}, {Participant: 4, Selected: true}}}
		if round < 17 {
			r.Contributions = append(r.Contributions, app.Contribution{Participant: 2, Selected: true})
		}
		g.recent = append(g.recent, r)
	}
	g.Last = &g.recent[19]
	g.Trouble = g.troubles()
	said := map[uint32]string{}
	var order []uint32
	for _, x := range g.Trouble {
		order, said[x.Participant] = append(order, x.Participant), strings.Join(x.Reasons, "; ")
	}
	require.Equal(t, []uint32{4, 3, 1, 2}, order)
	require.Equal(t, "proven offence in block 9: two different statements (gradient) for round 2; reputation 0", said[4])
	require.Equal(t, "points away from Delta in 7 of 20 rounds, last in round 6; reputation 0; "+chainview.Doubt, said[3])
	require.Equal(t, "no gradient in 3 of 20 rounds, last in round 19", said[2])
	require.Equal(t, "left out of round 19: Left out of Delta by the rule median.", said[1])
	var out strings.Builder
	require.NoError(t, g.text(&out))
	require.Contains(t, out.String(), "\nagainst 3 node3: points away from Delta in 7 of 20 rounds, last in round 6; "+
		"reputation 0; "+chainview.Doubt+"\n")
	require.Contains(t, out.String(), "\nagainst 2 node2: no gradient in 3 of 20 rounds")
	require.NotContains(t, out.String(), "against 1")
	require.Contains(t, out.String(), "4 included: 3 selected, 1 left out, 0 opposed, 0 rejected, 2 absent\n")
	table := strings.Split(strings.TrimSpace(out.String()[strings.Index(out.String(), "\n#"):]), "\n")
	for i, row := range []string{"#  ", "!! 4 ", "! 3 ", "! 1 ", "! 2 ", "0 ", "5 "} {
		require.True(t, strings.HasPrefix(table[i], row), table[i])
	}
}
