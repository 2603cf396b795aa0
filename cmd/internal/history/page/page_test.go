package page

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestIncidentsComeFirst: before everything else come the verdict, the participants that look like
// attackers, what the localnet's manifest says of them, offences, opposed runs, absences, and leaders
// that were passed over. Then come the facts, and participants by trouble.
func TestIncidentsComeFirst(t *testing.T) {
	h := &history.Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 2, Round: 3}, {Participant: 2, Round: 5}},
			Offences: []app.Offence{{Participant: 1, Round: 4, Kind: 1}}, AppHash: "abc", First: 1, Last: 44, Rounds: 20,
		},
		Runs: []history.Run{{Participant: 2, First: 0, Last: 19, FromHeight: 2, LastHeight: 40, Count: 20}},
		Gaps: []history.Run{{Participant: 3, First: 7, Last: 7, FromHeight: 16, LastHeight: 16, Count: 1},
			{Participant: 3, First: 14, Last: 16, FromHeight: 30, LastHeight: 34, Count: 3}},
		Count: []history.Tally{{Included: 20}, {Included: 20}, {Included: 20, Opposed: 20}, {Included: 16, Absent: 4}},
		State: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero", Reputation: 1e6},
			{Index: 1, Active: true, Moniker: "one"}, {Index: 2, Active: true, Moniker: "two"},
			{Index: 3, Active: true, Moniker: "three", Reputation: 1e6}}},
		Rounds: []history.Round{{At: 1, Reputations: []float64{1, 1, 1, 1}, Accuracy: 0.93},
			{Record: app.Record{Round: 19, ModelHash: []byte{0xfe}}, At: 20, Reputations: []float64{1, 1, 1, 1},
				Accuracy: 0.9712, Tested: 10000, Epsilon: 1.7441}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}, Rule: params.Rule{Name: "median", Byzantine: 1}},
	}
	o := Origin{Command: "command", Version: "version", GenesisHash: "0badcafe",
		Attacks: map[uint32]string{2: "sign-flip", 0: "silent"}}
	raw, err := Of(h, o)
	require.NoError(t, err)
	before := -1
	for _, part := range []string{
		`<p class="verdict">After round 19 of epoch 0: test accuracy 97.12 % of 10000 test examples, epsilon 1.745 of 4.</p>`,
		"2 participants look like attackers: one (#1): proven offences: 1; reputation 0. " +
			"two (#2): reputation 0; opposed to Delta in 20 of 20.",
		"By the manifest of this localnet these attack: zero (#0) silent, two (#2) sign-flip. In the chain&#39;s record " +
			"not found: zero (#0); suspected though honest: one (#1).",
		">proven offence: two different statements",
		`<th scope="row">opposed to Delta in 20 of 20 rounds</th>` +
			`<td data-l="participant">two (#2)</td><td data-l="epoch">0</td><td data-l="round">0 to 19</td>`,
		`<th scope="row">absent: no gradient in 3 of 3 rounds</th><td data-l="participant">three (#3)</td>`,
		">did not lead; ", "<h2>Facts", "SHA-256 of config/genesis.json: 0badcafe", "abc, after height 44",
		"hash fe, after round 19", "N = 4; the rule withstands f = 1 attackers", ">median<", "<h2>Training",
		"<h2>Participants", `<tr class="bad"><th scope="row">two (#2)`,
	} {
		at := strings.Index(string(raw), part)
		require.Greater(t, at, before, part)
		before = at
	}
	require.NotContains(t, string(raw), "in 1 of 1 rounds", "one late gradient is no incident")
	people, bad := chain{h, o}.participants()
	var order []string
	for _, row := range people.Rows {
		order = append(order, row[0])
	}
	require.Equal(t, []string{"two (#2)", "one (#1)", "three (#3)", "zero (#0)"}, order)
	require.Equal(t, map[int]bool{0: true, 1: true}, bad)
	require.Equal(t, []string{"two (#2)", "sign-flip", "an attacker", "0.000", "20", "0", "20", "0", "0", "2", "-", "-"},
		people.Rows[0])
}

// TestAxes: the accuracy's axis begins just below what was reached, and rounds at 1.
func TestAxes(t *testing.T) {
	h := &history.Chain{Audit: &audit.Report{}, State: &app.State{}}
	for i := range 30 {
		h.Rounds = append(h.Rounds, history.Round{At: float64(i + 1), Accuracy: 0.93 + float64(i)/1000})
	}
	panels := chain{Chain: h}.panels()
	require.Equal(t, 90.0, panels[0].Base)
	require.Equal(t, "90 %", panels[0].YMarks[0].Text)
	require.Equal(t, "0", panels[1].YMarks[0].Text)
	for _, p := range panels {
		require.Equal(t, "1", p.Marks[0].Text)
		require.Equal(t, 30.0, p.Marks[len(p.Marks)-1].At)
	}
	require.Equal(t, 0.0, floor([]float64{math.NaN(), 3}))
}
