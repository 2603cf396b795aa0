package top

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/explorer"
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
	require.Equal(t, 14, strings.Count(text, "\n"), text)
	for _, line := range strings.Split(text, "\n") {
		require.Less(t, len([]rune(line)), 300)
	}
	require.Contains(t, text, "selected, opposed")
	require.Contains(t, text, "NO ANSWER")

	out.Reset()
	require.NoError(t, draw(&out, v, &screen{out: &out}))
	require.True(t, strings.HasPrefix(out.String(), homeCursor))
	require.Equal(t, 1+14+1, strings.Count(out.String(), "\x1b"), "home, a clearing a line, the rest")
}

func TestMeter(t *testing.T) {
	require.Equal(t, "["+strings.Repeat(".", 20)+"]", meter(0, 0))
	require.Equal(t, "[##########..........]", meter(50, 100))
	require.Equal(t, "["+strings.Repeat("#", 20)+"]", meter(1<<40, 3))
}

// TestManyParticipants: of 130 participants a terminal of 24 lines shows those with trouble first, keys
// show the others, and s orders by number; only a screen with colours has any.
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
	trouble := shown()
	require.Less(t, strings.Index(trouble, "node117."), strings.Index(trouble, "node129."), "then the lowest reputation")
	require.Contains(t, trouble, string(red)+marks[2]+"117 ")
	first := shown("s")
	require.Contains(t, first, "node0.")
	require.NotContains(t, first, "node117.")
	require.Contains(t, first, "of 130")
	require.NotContains(t, first, string(red)+marks[2]+"117 ")
	require.Contains(t, first, "130 selected   0 left out   1 opposed   0 rejected   0 absent")
	require.Contains(t, first, "  reputation 0.500 to 1.000, median 0.752, 0 at 0", "on a line of its own")
	require.Contains(t, shown("G"), "node129.")
	require.Contains(t, shown("g", " "), fmt.Sprintf("node%d.", s.rows))
	require.NotContains(t, shown("j"), "node0.")
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
		1: {Reputation: params.One, PassedOver: 2},
		2: {Reputation: params.One/2 - 1},
		3: {Reputation: params.One, Offences: 1},
	} {
		require.Equal(t, want, trouble(p, &selected, false, true))
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
	require.Equal(t, []Trouble{{3, 2, []string{"passed over as leader 7 times more than it led since"}},
		{2, 1, []string{"passed over as leader 2 times more than it led since"}}}, g.Trouble)
	for i, want := range []string{explorer.OK, explorer.OK, explorer.Watch, explorer.Suspect} {
		alarm, reason := explorer.Leads(int(g.Standings[i].PassedOver))
		require.Equal(t, want, alarm)
		require.Equal(t, want == explorer.OK, reason == "")
	}
	lines := against(&view{Glance: g}, maxTroubles)
	require.Len(t, lines, 2)
	require.Equal(t, "against 3 node3: passed over as leader 7 times more than it led since", lines[0].text)
	require.Equal(t, red, lines[0].tint)
	require.Equal(t, yellow, lines[1].tint)
}

// TestPace: the time of a round is the median of the last ones, whatever one stop took.
func TestPace(t *testing.T) {
	p := &pace{times: map[params.RoundID]time.Time{}}
	at := time.Unix(1000, 0)
	for round := range uint64(12) {
		if at = at.Add(2 * time.Second); round == 8 {
			at = at.Add(time.Hour)
		}
		p.times[params.RoundID{Epoch: 1, Round: round}] = at
	}
	require.Equal(t, 2*time.Second, p.of(t.Context(), &app.Record{Epoch: 1, Round: 11}))
	require.Len(t, p.times, paceRounds+1, "older rounds are dropped")
	require.Zero(t, p.of(t.Context(), nil))
}

// TestSmall: a terminal of 60 columns and 20 lines has room for the participants of a small net, with
// what stands against one of them.
func TestSmall(t *testing.T) {
	g := &Glance{Moniker: "node0", Status: query.Status{ChainID: "spdl-localnet", Rule: "agnostic-mean", Round: 8,
		Rounds: 20, Participants: 4, Ranking: []uint32{1, 2, 3}}, Timing: &query.Timing{},
		Last: &app.Record{Round: 7, Rule: "agnostic-mean"}}
	for i := range uint32(4) {
		g.Standings = append(g.Standings, query.Standing{Participant: i, Moniker: fmt.Sprintf("node%d.", i)})
		g.Last.Contributions = append(g.Last.Contributions, app.Contribution{Participant: i, Selected: true})
	}
	g.Trouble = []Trouble{{Participant: 2, Level: 2, Reasons: []string{"reputation 0"}}}
	var out strings.Builder
	require.NoError(t, draw(&out, &view{Glance: g, Pace: time.Second}, &screen{out: &out, width: 60, height: 20}))
	require.LessOrEqual(t, strings.Count(out.String(), "\n"), 19)
	for i := range 4 {
		require.Contains(t, out.String(), fmt.Sprintf("node%d.  ", i))
	}
	for _, text := range []string{"against 2 node2.: reputation 0", "8 of 20 rounds closed", "about 12s left"} {
		require.Contains(t, out.String(), text)
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

// TestNarrow: a narrow screen wraps the lines above the table, keeps the columns that matter most, and
// names those that it leaves out. Budgets are a column only if they differ.
func TestNarrow(t *testing.T) {
	half := 0.5
	g := &Glance{Status: query.Status{Rule: "nnm+trimmed-mean", Round: 5, Rounds: 9}, Standings: []query.Standing{
		{Moniker: "alice", Reputation: params.One}}, Spend: []query.Spend{{Epsilon: &half, Budget: 2},
		{Participant: 1, Budget: 3}}, Last: &app.Record{Round: 4, Rule: "agnostic-mean",
		Contributions: []app.Contribution{{Selected: true, Opposed: true, Score: 1 << 20 * 3 / 4}}}}
	v := &view{Glance: g}
	all := []string{"#", "moniker", "reputation", "last round", "weight", "offences", "epsilon", "budget pays",
		"gradients", "budget"}
	for width, columns := range map[int]int{1: minColumns, 60: 5, 80: 7, 120: 10, 0: 10} {
		for _, l := range wrapped(head(v, maxTroubles, false), width) {
			require.True(t, width < 2 || len([]rune(l.text)) <= width, "%d: %q", width, l.text)
		}
		rows, narrow := table(v, false, width)
		require.Equal(t, all[:columns], regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(rows[0].text), -1), width)
		require.Contains(t, rows[1].text, "alice")
		require.Contains(t, rows[1].text, "selected, opposed")
		require.Equal(t, columns > 4, strings.Contains(rows[1].text, "0.25"), "its weight")
		require.True(t, width < 60 || len(rows[1].text) <= width)
		if columns == len(all) {
			require.Empty(t, narrow)
		} else {
			require.Equal(t, "not shown at this width: "+strings.Join(all[columns:], ", "), narrow[0].text)
		}
	}
	g.Spend[1].Budget, g.Last.Rule = 2, "median"
	rows, _ := table(v, false, 0)
	require.NotRegexp(t, `budget$`, rows[0].text)
	require.NotContains(t, rows[0].text, "weight")
}

// TestNothingIsCutOff: on a small screen troubles make way for the table, all of it is there, and no
// line is as wide as to be cut.
func TestNothingIsCutOff(t *testing.T) {
	g := &Glance{Status: query.Status{Round: 20, Rounds: 20, Participants: 7, Done: true}, Last: &app.Record{Round: 19,
		Rule: "agnostic-mean"}}
	for i := range uint32(7) {
		g.Standings = append(g.Standings, query.Standing{Participant: i, Moniker: fmt.Sprintf("node%d.", i)})
		g.Trouble = append(g.Trouble, Trouble{Participant: i, Level: 2, Reasons: []string{strings.Repeat("bad ", 30)}})
		g.Last.Contributions = append(g.Last.Contributions, app.Contribution{Participant: i, Opposed: true})
	}
	for _, height := range []int{18, 24, 60} {
		var out strings.Builder
		require.NoError(t, draw(&out, &view{Glance: g}, &screen{out: &out, width: 80, height: height}))
		lines := strings.Split(out.String(), "\r\n")
		require.LessOrEqual(t, len(lines), height)
		for _, l := range lines {
			require.LessOrEqual(t, len([]rune(regexp.MustCompile(`\x1b\[[HJK]`).ReplaceAllString(l, ""))), 80)
			require.False(t, l != clearLine && strings.HasSuffix(l, clearLine), "the last character is cleared")
		}
		require.GreaterOrEqual(t, strings.Count(out.String(), ".  "), min(minRows, 7), "rows of the table")
		require.Contains(t, out.String(), "and against ")
		require.Contains(t, out.String(), "20 of 20 rounds closed")
		require.Contains(t, out.String(), "last closed: round 19 (the first is 0)")
		require.NotContains(t, out.String(), "next leaders")
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
		for _, l := range wrapped(head(&view{Glance: g}, maxTroubles, false), width) {
			require.True(t, width == 0 || len([]rune(l.text)) <= width, "%d: %q", width, l.text)
		}
	}
}

// TestFirst: the first lines say whether the net and this node work, whether the model learns, when the training ends
// and who is in trouble, in this order, before the last round.
func TestFirst(t *testing.T) {
	accuracy := 0.22
	g := &Glance{At: time.Unix(0, 0).UTC(), Unreachable: "refused", Status: query.Status{Round: 3, Rounds: 10,
		Participants: 4, Home: &query.Home{Worker: query.WorkerStopped}},
		Votes: &client.Votes{Silent: []string{`2 "c"`, `3 "d"`}, All: 4}, Last: &app.Record{Round: 2}}
	v := &view{Glance: g, Pace: time.Second, Score: score{Accuracy: &accuracy, Examples: 100, Guess: 0.1, Poor: true}}
	var out strings.Builder
	require.NoError(t, draw(&out, v, &screen{}))
	at := 0
	for _, want := range []string{"NO BLOCK", "NO ANSWER since 00:00:00, old figures: refused",
		`No quorum: 2 of 4 validators vote, not 2 "c", 3 "d"`, "this node: no peer", "this node: worker stopped",
		"accuracy 22.00 % of 100 examples after round 0, hardly better than guessing (10 %)", "3 of 10 rounds closed",
		"last closed"} {
		i := strings.Index(out.String()[at:], want)
		require.GreaterOrEqual(t, i, 0, "%s in %s", want, out.String())
		at += i
	}
	require.NotContains(t, out.String(), " left, ", "nobody knows when the next block comes")
	require.NotContains(t, out.String(), "no participant is in trouble")
	g.Votes, g.Unreachable, g.Status.Home, v.Score = nil, "", nil, score{}
	require.Empty(t, alarms(v))
	out.Reset()
	require.NoError(t, draw(&out, v, &screen{}))
	require.Regexp(t, `(?s)accuracy.*3 of 10 rounds closed.*about 7s left.*no participant is in trouble.*last closed`,
		out.String())
}

// TestHelp: ? explains each column and mark, within the screen, and the next key goes back.
func TestHelp(t *testing.T) {
	s := &screen{width: 80, height: 24}
	v := &view{Glance: &Glance{Last: &app.Record{Rule: "agnostic-mean"}}}
	shown := func(key string) string {
		var out strings.Builder
		s.out = &out
		require.False(t, s.press(key))
		require.NoError(t, draw(&out, v, s))
		require.Less(t, strings.Count(out.String(), "\n"), 24)
		return out.String()
	}
	text := shown("?")
	names, _ := cellsOf(v)
	for _, want := range append(names[2:], strings.TrimSpace(marks[1]), strings.TrimSpace(marks[2]), "PgUp") {
		if want != "offences" && want != "gradients" { // they explain themselves
			require.Contains(t, text, want)
		}
	}
	require.Contains(t, shown("x"), "q: quit")
	shown("?")
	require.True(t, s.press("q"))
}

// TestMarks: a participant in trouble is marked without colours, too.
func TestMarks(t *testing.T) {
	g := &Glance{Last: &app.Record{Contributions: []app.Contribution{{Participant: 0, Selected: true}, {Participant: 1}}},
		Standings: []query.Standing{{Participant: 0, Reputation: params.One}, {Participant: 1, Reputation: params.One},
			{Participant: 2, Offences: 1}}}
	lines, _ := table(&view{Glance: g}, false, 0)
	for i, level := range []int{0, 0, 1, 3} { // of the heading and the rows
		require.True(t, strings.HasPrefix(lines[i].text, marks[level]), lines[i].text)
	}
}
