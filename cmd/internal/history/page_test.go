package history

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestAttackersComeFirst: first come accuracy, epsilon and the number of attackers, then what stands
// against each of them and what became of it, with the weight of its gradients. Then come curves,
// offences, leaders that were passed over, participants by trouble, and facts.
func TestAttackersComeFirst(t *testing.T) {
	h := &Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 2, Round: 3}, {Participant: 2, Round: 5}},
			Offences: []app.Offence{{Participant: 1, Round: 4, Kind: 1, Height: 9}}, AppHash: "abc", First: 1,
			Last: 44, Rounds: 20,
		},
		Count: []chainview.Tally{{Included: 20, Selected: 20}, {Included: 20, Selected: 20}, {Included: 20, Selected: 16,
			Opposed: 20, Missed: 2, Weight: 0.4, Weighed: 20}, {Included: 16, Selected: 16, Absent: 4}},
		State: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero", Reputation: 1e6},
			{Index: 1, Active: true, Moniker: "one"}, {Index: 2, Active: true, Moniker: "two"},
			{Index: 3, Active: true, Moniker: "three", Reputation: 1e6}}},
		Rounds: []Round{{At: 1, Reputations: []float64{1, 1, 1, 1}, Accuracy: 0.93, Epsilon: 0.47},
			{Record: app.Record{Round: 19, ModelHash: []byte{0xfe}}, At: 20, Reputations: []float64{1, 0, 1, 1},
				Accuracy: 0.9712, Tested: 10000, Epsilon: 1.7441}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}, Rule: params.Rule{Name: "median", Byzantine: 1}},
	}
	o := Origin{Command: "command", Version: "version", GenesisHash: "0badcafe",
		Attacks: map[uint32]string{2: "sign-flip", 0: "silent"}}
	raw, err := Page(h, o)
	require.NoError(t, err)
	before := -1
	for _, part := range []string{
		`<dt>Test accuracy</dt><dd>97.12 % <small>of 10000 test examples, after round 19 of epoch 0</small>`,
		`<dt>Epsilon spent</dt><dd>1.745 of 4 <small>44 % of the budget; delta 0</small>`,
		`<dt>Stand out</dt><dd>2 <small>of 4 participants: one (#1), two (#2)</small>`,
		"<bdi>zero (#0)</bdi></span> Attack by the manifest: silent. The record does not accuse it, and the attackers " +
			"are more than the rule withstands.</li>",
		"<bdi>one (#1)</bdi></span> Against it: proven offences: 1; reputation 0.</li>",
		"<bdi>two (#2)</bdi></span> Attack by the manifest: sign-flip. Against it: reputation 0; failed to lead in 2 of " +
			"its 2 turns; opposed to Delta in 20 of 20; weight 0.02 on average; attacker or different patients: compare case " +
			"mix.</li>",
		`<h2 id="training">`, `>budget 4</text>`, `<h2 id="incidents">`, ">proven offence: two different statements",
		">did not lead; ", `<h2 id="participants">`, `<tr class="alarm-suspect"><th scope="row"><bdi>two (#2)`,
		`<h2 id="facts">`, "SHA-256 of config/genesis.json: 0badcafe", "abc, after height 44",
		"hash fe, after round 19", "<footer>",
	} {
		at := strings.Index(string(raw), part)
		require.Greater(t, at, before, part)
		before = at
	}
	require.Contains(t, string(raw), "<small>withstands 1 attacker</small>")
	h.Params.Rule.Byzantine = 2
	raw, err = Page(h, o)
	require.NoError(t, err)
	require.Contains(t, string(raw), "Attack by the manifest: silent. No alarm accuses it: its gradient is in 20 of "+
		"20 rounds, the rule selected it in 20, and its turns to lead were passed over 0 times.</li>")
	h.Count[0].Opposed = 3
	raw, err = Page(h, o)
	require.NoError(t, err)
	require.Contains(t, string(raw), "silent. No alarm accuses it, though it opposed Delta in 3 of 20.</li>")
	h.Count[0].Opposed = 0
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
// each participant has a line of reputations, and those of suspects are marked; the budget is a line.
func TestFigures(t *testing.T) {
	h := &Chain{Audit: &audit.Report{}, Count: make([]chainview.Tally, 4), State: &app.State{
		Participants: []app.Participant{{Index: 0, Active: true, Moniker: "a", Reputation: 1e6},
			{Index: 1, Active: true, Moniker: "b", Reputation: 1e6}, {Index: 2, Active: true, Moniker: "c"},
			{Index: 3, Active: true, Moniker: "d"}}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}}}
	for i := range 30 {
		h.Rounds = append(h.Rounds, Round{Record: app.Record{Round: uint64(i), Rule: "agnostic-mean"},
			At: float64(i + 1), Accuracy: 0.93 + float64(i)/1000, Epsilon: float64(i) / 10,
			Reputations: []float64{1, 1, max(0, 1-float64(i)/10), 0}})
	}
	c := chain{Chain: h}
	name, at := c.across()
	require.Equal(t, "round", name)
	require.EqualValues(t, 29, at(h.Rounds[29]))
	lines := c.reputations()
	require.Len(t, lines, 4)
	require.Equal(t, []string{"a (#0)", chainview.OK, "c (#2)", chainview.Differs, "d (#3)", chainview.Differs},
		[]string{lines[0].Name, lines[0].Alarm, lines[2].Name, lines[2].Alarm, lines[3].Name, lines[3].Alarm})
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

// TestBesideAccuracy: the accuracy of a table stands beside that of guessing, AUC and recall, the warnings come first,
// and the page says for which sites there is a gain, and for which none.
func TestBesideAccuracy(t *testing.T) {
	h, o := runOf(0.9, 97), Origin{Gains: Gains{Head: []string{"model", "AUC"}, Sites: []Site{
		{Name: "north", About: "3 rows", Verdict: adapt.Same, Cells: [][]string{{"shared", "0.7 (0.6 to 0.8)"}}},
		{Name: "<b>", About: "4 rows", Verdict: adapt.Better}, {Name: "south", Verdict: adapt.Worse, NoneBeatsRate: true},
		{Name: "west (one label)"}}}}
	raw, err := Page(h, o)
	require.NoError(t, err)
	text := string(raw)
	for _, part := range []string{`<div class="alert"><strong>dead is never predicted</strong></div>`,
		"of 97 test examples, after round 1 of epoch 0; guessing alive gives 0.8800; AUC 0.7500, Brier score 0.0625 (by " +
			"the rate 0.0000); recall of dead, 0.2500 of 4",
		"<h2 id=\"says\">What each site gains</h2>\n<ul class=\"plain-list\">\n<li>A gain for &lt;b&gt;</li>\n" +
			"<li>No gain that the test rows show for north</li>\n<li>No gain, but a loss, for south</li>\n" +
			"<li>None beats guessing the rate for south</li>\n<li>Not measured: west (one label)</li>\n",
		"no epsilon bounds what this tells of them",
		"<bdi>north, 3 rows</bdi>", `<td data-l="AUC"><bdi>0.7 (0.6 to 0.8)</bdi></td>`,
		`<td data-l="recall"><bdi>25.00 %</bdi></td>`, `<td data-l="AUC"><bdi>0.7500</bdi></td>`} {
		require.Contains(t, text, part)
	}
	require.Contains(t, text, "<strong>AUC</strong>", "a curve")
	require.Less(t, strings.Index(text, `id="says"`), strings.Index(text, `id="attackers"`), "gains come before attackers")
	require.Contains(t, text, "td, tbody th { white-space: nowrap;", "no number breaks over two lines")
	require.Contains(t, text, "td.wrap, th.long, thead th { white-space: normal;", "but a heading and an interval may")
	o.Gains.Sites[0].Cells[0][1] = "-0.0002 (-0.0019 to 0.0023)"
	raw, err = Page(h, o)
	require.NoError(t, err)
	require.Contains(t, string(raw), `<td data-l="AUC" class="wrap"><bdi>-0.0002 (`,
		"no column is cut off where it has room")
	o.Gains.Sites[0].Cells[0][1] = "no difference, -0.0001 (-0.0045 to 0.0038)"
	o.Gains.Folds = Folds{Says: []string{"north: gains at epsilon 2"}}
	raw, err = Page(h, o)
	require.NoError(t, err)
	require.Contains(t, string(raw), `<td data-l="AUC" class="long"><bdi>no difference, -0.0001`, "but a long text may")
	require.Contains(t, string(raw), "<ul class=\"plain-list\">\n<li>north: gains at epsilon 2</li>\n</ul>")
}

// runOf returns a chain of two rounds, in which one accuracy is measured on a number of examples.
func runOf(accuracy float64, tested int) *Chain {
	h := &Chain{Audit: &audit.Report{ChainID: "c", Rounds: 2}, Count: make([]chainview.Tally, 1),
		State:  &app.State{Participants: []app.Participant{{Active: true, Moniker: "zero", Reputation: 1e6}}},
		Params: params.Params{Rule: params.Rule{Name: "median"}, Privacy: params.Privacy{Epsilon: 2}}}
	measures := evaluate.Measures{Majority: 0.88, Frequent: "alive", Class: "dead", Positive: "dead", Recall: 0.25,
		Examples: 4, Quality: &evaluate.Quality{AUC: 0.75, Brier: 0.0625}, Warnings: []string{"dead is never predicted"}}
	for i := range 2 {
		h.Rounds = append(h.Rounds, Round{Record: app.Record{Round: uint64(i)}, At: float64(i + 1),
			Reputations: []float64{1}, Accuracy: accuracy, Tested: tested, Measures: &measures, Epsilon: 0.5})
	}
	return h
}

// TestWhatDiffers: settings come first, what a preset computes of them is folded unless nothing else differs, and of
// three runs a sign marks the values that are not those of the first.
func TestWhatDiffers(t *testing.T) {
	a, b, c := runOf(0.9, 97), runOf(0.95, 97), runOf(0.95, 97)
	b.Params.Election.ViewBlocks = 3
	tables, err := besides([]Run{{"a", a, nil, nil}, {"b", b, nil, nil}})
	require.NoError(t, err)
	require.Len(t, tables, 2)
	require.Equal(t, [][]string{{"election.view_blocks", "0", "3"}}, tables[1].Rows)
	require.False(t, tables[1].Folded)
	c.Params.Training.LearningRate = 0.5
	tables, err = besides([]Run{{"a", a, nil, nil}, {"b", b, nil, nil}, {"c", c, nil, nil}})
	require.NoError(t, err)
	require.Len(t, tables, 3)
	require.Equal(t, [][]string{{"training.learning_rate", "0", "0", "≠ 0.5"}}, tables[1].Rows)
	require.Equal(t, [][]string{{"election.view_blocks", "0", "≠ 3", "0"}}, tables[2].Rows)
	require.True(t, tables[2].Folded)
}

// TestSideBySide: runs of different settings have their results and what differs in tables, and a common curve only
// where it means something.
func TestSideBySide(t *testing.T) {
	a, b := runOf(0.9, 97), runOf(0.95, 97)
	b.Params.Training.LearningRate = 0.5
	text := func() string {
		raw, err := SideBySide([]Run{{"first", a, nil, nil}, {"se<cond", b, map[uint32]string{0: "alie"},
			map[string]string{"partition": "iid"}}}, Origin{})
		require.NoError(t, err)
		return string(raw)
	}
	got := text()
	for _, part := range []string{"<h1>2 runs side by side</h1>", `<td data-l="test accuracy"><bdi>95.00 %</bdi></td>`,
		`<td data-l="guessing"><bdi>88.00 %</bdi></td>`, "first: dead is never predicted",
		`<th scope="row"><bdi>training.learning_rate</bdi></th><td data-l="first"><bdi>0</bdi></td>` +
			`<td data-l="se&lt;cond"><bdi>0.5</bdi></td>`, "<strong>Test accuracy</strong>", "<strong>Epsilon spent</strong>"} {
		require.Contains(t, got, part)
	}
	require.NotContains(t, got, "No common curve")
	require.Contains(t, got, "<bdi>se&lt;cond: ")
	require.Contains(t, got, `<th scope="row"><bdi>partition</bdi></th><td data-l="first"><bdi>-</bdi></td>`+
		`<td data-l="se&lt;cond"><bdi>iid</bdi></td>`)
	require.Contains(t, got, "Attack by the manifest: alie.")
	a.Params.Model.Classes = 10
	require.NotContains(t, text(), "No common curve", "a model without classes is measured on as many examples")
	b.Rounds[1].Tested, b.Params.Privacy.Unit = 96, params.UnitGroup
	require.Contains(t, text(), "No common curve of Test accuracy: 96 test examples and 97 test examples.")
	b.Params.Model.Classes = 2
	got = text()
	require.Contains(t, got, "No common curve of Test accuracy: 96 test examples of 2 classes and 97 test examples of 10 "+
		"classes.")
	require.Contains(t, got, "No common curve of AUC")
	require.Contains(t, got, "No common curve of Epsilon spent: epsilon by example at delta 0 and epsilon by group at")
	require.NotContains(t, got, "<strong>Test accuracy</strong>")
	for _, h := range []*Chain{a, b} {
		for i := range h.Rounds {
			h.Rounds[i].Measures = nil
		}
	}
	require.NotContains(t, text(), "No common curve of AUC", "no run has it")
	raw, err := SideBySide([]Run{{"first", a, nil, map[string]string{"partition": "iid"}},
		{"second", a, nil, map[string]string{"partition": "iid"}}}, Origin{})
	require.NoError(t, err)
	require.Contains(t, string(raw), "No parameter of the last epochs differs.")
}
