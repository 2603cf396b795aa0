package top

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// TestTopHostile: whatever a node and its participants call themselves, a frame
// has its own control sequences alone and its own lines.
func TestTopHostile(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;owned\x07\r\n\u202Eevil\u0301\u0301\u200b\x9b31m\xff" + strings.Repeat("x", 500)
	epsilon, left := 0.5, uint64(3)
	g := &Glance{
		At: time.Unix(0, 0).UTC(), Moniker: hostile, Unreachable: hostile,
		Status: query.Status{ChainID: hostile, Rule: hostile, Round: 1 << 60, Rounds: 1, Ranking: make([]uint32, 1000)},
		Last:   &app.Record{Contributions: []app.Contribution{{Participant: 0, Selected: true, Opposed: true}}},
		Standings: []query.Standing{
			{Participant: 0, Moniker: hostile, Reputation: 500_000}, {Participant: 1, Moniker: "\n\n\n"},
			{Participant: 7, Moniker: "\t|\v"},
		},
		Spend: []query.Spend{{Participant: 0, Moniker: hostile, Epsilon: &epsilon, Left: &left, Budget: 2}},
	}
	v := &view{Glance: g, Score: score{Why: hostile}, Pace: time.Second}
	var out strings.Builder
	require.NoError(t, draw(&out, v, &screen{}))
	text := out.String()
	for _, r := range text {
		require.True(t, unicode.IsPrint(r) && !unicode.IsMark(r) || r == '\n', "%q in %q", r, text)
	}
	require.Equal(t, 13, strings.Count(text, "\n"), text)
	for _, line := range strings.Split(text, "\n") {
		require.Less(t, len([]rune(line)), 300)
	}
	require.Contains(t, text, "selected, opposed")
	require.Contains(t, text, "NO ANSWER")

	out.Reset()
	require.NoError(t, draw(&out, v, &screen{out: &out}))
	require.True(t, strings.HasPrefix(out.String(), homeCursor))
	require.Equal(t, 1+13+1, strings.Count(out.String(), "\x1b"), "home, a clearing a line, the rest")
}

func TestMeter(t *testing.T) {
	require.Equal(t, "["+strings.Repeat(".", 20)+"]", meter(0, 0))
	require.Equal(t, "[##########..........]", meter(50, 100))
	require.Equal(t, "["+strings.Repeat("#", 20)+"]", meter(1<<40, 3))
}

// TestManyParticipants: of 130 participants a terminal of 24 lines shows what has room, keys show
// the others, and s puts the one with trouble first; only a screen with colours has any.
func TestManyParticipants(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 5, Rounds: 9, Participants: 130}, Last: &app.Record{Round: 4}}
	for i := range uint32(130) {
		g.Standings = append(g.Standings, query.Standing{Participant: i, Moniker: fmt.Sprintf("node%d.", i),
			Reputation: params.One - params.One/2*int64(i)/129})
		g.Last.Contributions = append(g.Last.Contributions, app.Contribution{Participant: i, Selected: true,
			Opposed: i == 117})
	}
	v := &view{Glance: g}
	s := &screen{width: 80, height: 24, colours: true}
	shown := func(keys ...string) string {
		var out strings.Builder
		s.out = &out
		for _, key := range keys {
			require.False(t, s.press(key))
		}
		require.NoError(t, draw(&out, v, s))
		require.Equal(t, 23, strings.Count(out.String(), "\n"), "all lines are used, and none scrolls away")
		return out.String()
	}
	first := shown()
	require.Contains(t, first, "node0.")
	require.NotContains(t, first, "node117.")
	require.Contains(t, first, "of 130")
	require.NotContains(t, first, string(red))
	require.Contains(t, first, "130 selected   0 left out   1 opposed   0 rejected   0 absent")
	require.Contains(t, first, "  reputation 0.500 to 1.000, median 0.752, 0 at 0", "on a line of its own")
	require.Contains(t, shown("G"), "node129.")
	require.Contains(t, shown("g", " "), fmt.Sprintf("node%d.", s.rows))
	require.NotContains(t, shown("j"), "node0.")
	trouble := shown("s")
	require.Less(t, strings.Index(trouble, "node117."), strings.Index(trouble, "node129."), "then the lowest reputation")
	require.Contains(t, trouble, string(red)+"117 ")
	s.colours = false
	require.NotContains(t, shown(), "\x1b[31m")
	require.True(t, s.press("q"))
	require.True(t, s.press("\x03"))
}

// TestTrouble: what stands against a participant beyond the last round counts, too.
func TestTrouble(t *testing.T) {
	selected := app.Contribution{Selected: true}
	for want, p := range map[int]query.Standing{
		0: {Reputation: params.One},
		1: {Reputation: params.One, PassedOver: 4},
		2: {Reputation: params.One/2 - 1},
		3: {Reputation: params.One, Offences: 1},
	} {
		require.Equal(t, want, trouble(p, &selected, false, true))
	}
}

// TestTimeLeft: the rounds that are left, at the pace of the last ones.
func TestTimeLeft(t *testing.T) {
	for text, v := range map[string]*view{
		"   about 1m30s left, 1.5 s a round": {Glance: &Glance{Status: query.Status{Round: 40, Rounds: 100}},
			Pace: 1500 * time.Millisecond},
		"   about 3h0m left, 60 s a round": {Glance: &Glance{Status: query.Status{Rounds: 180}}, Pace: time.Minute},
		"   years left":                    {Glance: &Glance{Status: query.Status{Rounds: 1 << 62}}, Pace: time.Hour},
		"":                                 {Glance: &Glance{Status: query.Status{Round: 40, Rounds: 100}}},
	} {
		require.Equal(t, text, timeLeft(v))
	}
}

// TestTrend: a value a round, the newest ones, between the lowest and the highest.
func TestTrend(t *testing.T) {
	var x trend
	for round := range uint64(30) {
		value := float64(round)
		x = x.add(round, &value)
		x = x.add(round, &value)
	}
	require.Len(t, x.values, trendRounds)
	require.Equal(t, trendRounds+1, len([]rune(x.String())))
	require.True(t, strings.HasPrefix(x.String(), " ▁"))
	require.True(t, strings.HasSuffix(x.String(), "█"))
	require.Equal(t, x, x.add(31, nil), "it was not measured")
	again := 0.0
	require.Equal(t, 0.0, x.add(0, &again).values[trendRounds-1], "another epoch")
	require.Empty(t, trend{values: []float64{1}}.String())
	require.Equal(t, " ▁▁", trend{values: []float64{1, 1}}.String())
}

// TestNarrow: a narrow screen wraps the lines above the table, and keeps the columns that matter most.
func TestNarrow(t *testing.T) {
	g := &Glance{Status: query.Status{Rule: "nnm+trimmed-mean", Round: 5, Rounds: 9}, Standings: []query.Standing{
		{Moniker: "alice", Reputation: params.One}}}
	v := &view{Glance: g}
	for width, want := range map[int]string{60: "last round", 90: "epsilon", 120: "budget", 0: "budget"} {
		for _, l := range wrapped(head(v), width) {
			require.LessOrEqual(t, len([]rune(l.text)), max(width, 200*(1-min(1, width))), "%d: %q", width, l.text)
		}
		rows := table(v, false, width)
		require.Contains(t, rows[0].text, want)
		require.Contains(t, rows[0].text, "offences  rounds left")
		require.Equal(t, width == 0 || width == 120, strings.Contains(rows[0].text, "budget"))
		require.Contains(t, rows[1].text, "alice")
		require.LessOrEqual(t, len(strings.TrimRight(rows[0].text, " ")), max(width, 120))
	}
}

// TestAgainst: what stands against a participant is said with its numbers, the gravest first, at any
// width, and a gradient that was left out once is not.
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
	require.Equal(t, "points away from Delta in 7 of 20 rounds, last in round 6; reputation 0", said[3])
	require.Equal(t, "no gradient in 3 of 20 rounds, last in round 19", said[2])
	require.Equal(t, "left out of round 19: Left out of Delta by the rule median.", said[1])
	for _, width := range []int{0, 40, 80, 118} {
		var out strings.Builder
		require.NoError(t, draw(&out, &view{Glance: g}, &screen{width: width}))
		text := strings.Join(strings.Fields(out.String()), " ")
		require.Contains(t, text, "against 3 node3: points away from Delta in 7 of 20 rounds, last in round 6; reputation 0")
		require.Contains(t, text, "against 2 node2: no gradient in 3 of 20 rounds")
		require.NotContains(t, text, "against 1")
		for _, l := range wrapped(head(&view{Glance: g}), width) {
			require.True(t, width == 0 || len([]rune(l.text)) <= width, "%d: %q", width, l.text)
		}
	}
}
