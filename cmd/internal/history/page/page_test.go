package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestAttackersComeFirst: first come accuracy, epsilon and the number of attackers, then what stands
// against each of them and what became of it, with the weight of its gradients. Then come curves,
// offences, opposed runs, absences, leaders that were passed over, participants by trouble, and facts.
func TestAttackersComeFirst(t *testing.T) {
	h := &history.Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 2, Round: 3}, {Participant: 2, Round: 5}},
			Offences: []app.Offence{{Participant: 1, Round: 4, Kind: 1}}, AppHash: "abc", First: 1, Last: 44, Rounds: 20,
		},
		Runs: []history.Run{{Participant: 2, First: 0, Last: 19, FromHeight: 2, LastHeight: 40, Count: 20}},
		Gaps: []history.Run{{Participant: 3, First: 7, Last: 7, FromHeight: 16, LastHeight: 16, Count: 1},
			{Participant: 3, First: 14, Last: 16, FromHeight: 30, LastHeight: 34, Count: 3}},
		Count: []chainview.Tally{{Included: 20}, {Included: 20}, {Included: 20, Selected: 16,
			Opposed: 20, Missed: 2, Weight: 0.4, Weighed: 20}, {Included: 16, Absent: 4}},
		State: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero", Reputation: 1e6},
			{Index: 1, Active: true, Moniker: "one"}, {Index: 2, Active: true, Moniker: "two"},
			{Index: 3, Active: true, Moniker: "three", Reputation: 1e6}}},
		Rounds: []history.Round{{At: 1, Reputations: []float64{1, 1, 1, 1}, Accuracy: 0.93, Epsilon: 0.47},
			{Record: app.Record{Round: 19, ModelHash: []byte{0xfe}}, At: 20, Reputations: []float64{1, 0, 1, 1},
				Accuracy: 0.9712, Tested: 10000, Epsilon: 1.7441}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}, Rule: params.Rule{Name: "median", Byzantine: 1}},
	}
	o := Origin{Command: "command", Version: "version", GenesisHash: "0badcafe",
		Attacks: map[uint32]string{2: "sign-flip", 0: "silent"}}
	raw, err := Of(h, o)
	require.NoError(t, err)
	before := -1
	for _, part := range []string{
		`<dt>Test accuracy</dt><dd>97.12 % <small>of 10000 test examples, after round 19 of epoch 0</small>`,
		`<dt>Epsilon spent</dt><dd>1.745 of 4 <small>44 % of the budget; delta 0</small>`,
		`<dt>Stand out</dt><dd>2 <small>of 4 participants: one (#1), two (#2)</small>`,
		"Attackers by the manifest of this localnet: 2, and the rule withstands 1: the model may be ruined, and the " +
			"record may accuse the honest. In the chain&#39;s record not found: zero (#0); standing out though honest: " +
			"one (#1).",
		"<bdi>zero (#0)</bdi></span> Attack by the manifest: silent. The record does not accuse it, and the attackers " +
			"are more than the rule withstands.</li>",
		"<bdi>one (#1)</bdi></span> Against it: proven offences: 1; reputation 0. It has no reputation since round 19 of " +
			"epoch 0, and leads no round.</li>",
		"<bdi>two (#2)</bdi></span> Attack by the manifest: sign-flip. Against it: reputation 0; opposed to Delta in 20 " +
			"of 20; attacker or different patients: compare case mix. Its gradients weighed 0.02 of a full share on average. " +
			"It has no reputation, and leads no round.</li>",
		`<h2 id="training">`, `>budget 4</text>`, `<h2 id="incidents">`, ">proven offence: two different statements",
		`<th scope="row"><bdi>opposed to Delta in 20 of 20 rounds</bdi></th>` +
			`<td data-l="participant"><bdi>two (#2)</bdi></td><td data-l="epoch"><bdi>0</bdi></td>` +
			`<td data-l="round"><bdi>0 to 19</bdi></td>`,
		`<th scope="row"><bdi>absent: no gradient in 3 of 3 rounds</bdi></th><td data-l="participant"><bdi>three (#3)</bdi>`,
		">did not lead; ", `<h2 id="participants">`, `<tr class="alarm-suspect"><th scope="row"><bdi>two (#2)`,
		`<h2 id="facts">`, "SHA-256 of config/genesis.json: 0badcafe", "abc, after height 44",
		"hash fe, after round 19", "N = 4; the rule withstands f = 1", ">median<", "<footer>",
	} {
		at := strings.Index(string(raw), part)
		require.Greater(t, at, before, part)
		before = at
	}
	require.NotContains(t, string(raw), "in 1 of 1 rounds", "one late gradient is no incident")
	require.Contains(t, string(raw), "<small>withstands 1 attacker</small>")
	h.Params.Rule.Byzantine = 2
	raw, err = Of(h, o)
	require.NoError(t, err)
	require.Contains(t, string(raw), "Attack by the manifest: silent. Nothing stands against it.</li>")
	require.Contains(t, string(raw), "by the manifest of this localnet: 2. In the chain")
	people := chain{h, o}.participants()
	var order []string
	for _, row := range people.Rows {
		order = append(order, row[0])
	}
	require.Equal(t, []string{"two (#2)", "one (#1)", "three (#3)", "zero (#0)"}, order)
	require.Equal(t, map[int]bool{0: true, 1: true}, people.Bad)
	require.Equal(t, []string{"two (#2)", "sign-flip", "yes", "0.000", "20", "16", "0.02", "20", "0", "0", "2",
		"-", "-"}, people.Rows[0])
}

// TestFigures: the axis counts rounds of one epoch by their numbers, and rounds of several through;
// each course of reputations is one line, and those of suspects are apart; the budget is a line.
func TestFigures(t *testing.T) {
	h := &history.Chain{Audit: &audit.Report{}, Count: make([]chainview.Tally, 4), State: &app.State{
		Participants: []app.Participant{{Index: 0, Active: true, Moniker: "a", Reputation: 1e6},
			{Index: 1, Active: true, Moniker: "b", Reputation: 1e6}, {Index: 2, Active: true, Moniker: "c"},
			{Index: 3, Active: true, Moniker: "d"}}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}}}
	for i := range 30 {
		h.Rounds = append(h.Rounds, history.Round{Record: app.Record{Round: uint64(i), Rule: "agnostic-mean"},
			At: float64(i + 1), Accuracy: 0.93 + float64(i)/1000, Epsilon: float64(i) / 10,
			Reputations: []float64{1, 1, max(0, 1-float64(i)/10), 0}})
	}
	c := chain{Chain: h}
	name, at := c.across()
	require.Equal(t, "round", name)
	require.EqualValues(t, 29, at(h.Rounds[29]))
	lines := c.reputations()
	require.Len(t, lines, 3)
	require.Equal(t, []string{"a (#0), b (#1)", chainview.OK, "c (#2)", chainview.Differs, "d (#3)", chainview.Differs},
		[]string{lines[0].Name, lines[0].Alarm, lines[1].Name, lines[1].Alarm, lines[2].Name, lines[2].Alarm})
	figures, err := c.figures()
	require.NoError(t, err)
	require.Len(t, figures, 4)
	require.Contains(t, figures[0], "the axis begins at 90 %")
	require.Contains(t, figures[1], ">budget 4</text>")
	require.Contains(t, figures[2], `<polyline class="of-differs look-1"`, "two suspects look different")
	require.Contains(t, figures[3], ">weight together</bdi>")
	h.Rounds[29].Epoch, h.Rounds[29].Round = 1, 0
	name, at = c.across()
	require.Equal(t, "rounds closed", name)
	require.EqualValues(t, 30, at(h.Rounds[29]))
	h.Rounds = h.Rounds[:1]
	figures, err = c.figures()
	require.NoError(t, err)
	require.Empty(t, figures, "one round is no curve")
}
