// Package page makes the report of a chain's history: one HTML file with figures.
package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/testnet/experiment"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// Origin says what a report is made of, and by what.
type Origin struct {
	Command, Version string // that made the report
	GenesisHash      string // SHA-256 of the file config/genesis.json
	GenesisTime      time.Time
	Attacks          map[uint32]string // kinds of attack of a localnet's manifest, by participant
}

// chain is a history with the functions that show it.
type chain struct {
	*history.Chain
	Origin
}

// Of returns the report: one HTML file.
func Of(h *history.Chain, o Origin) ([]byte, error) {
	c := chain{h, o}
	notes := []figure.Note{
		{Name: "command", Text: c.Command}, {Name: "chain", Text: c.Audit.ChainID},
		{Name: "application hash", Text: c.Audit.AppHash}, {Name: "version", Text: c.Version},
	}
	drawings, err := c.drawings(notes)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("All of the chain was executed again from its blocks, and %d signatures of validators were "+
		"verified.", c.Audit.Signatures)
	if c.Unmeasured != "" {
		about += " Models were not measured: " + c.Unmeasured + "."
	}
	var sections []experiment.Section
	if t := c.incidents(); len(t.Rows) > 0 {
		sections = append(sections, experiment.Section{Summary: experiment.Summary{Name: "incidents",
			Title: "Incidents", Table: t}})
	}
	people, bad := c.participants()
	sections = append(sections,
		experiment.Section{Summary: experiment.Summary{Name: "facts", Title: "Facts", Table: c.facts()}},
		experiment.Section{Drawings: drawings, Summary: experiment.Summary{Name: "training", Title: "Training"}},
		experiment.Section{Bad: bad, Summary: experiment.Summary{
			Name: "participants", Title: "Participants, those with trouble first", Notes: notes, Table: people}})
	title := "Rounds"
	if uint64(len(c.Rounds)) < c.Audit.Rounds {
		title = fmt.Sprintf("Rounds: %d of %d", len(c.Rounds), c.Audit.Rounds)
	}
	sections = append(sections, experiment.Section{Folded: true, Summary: experiment.Summary{Name: "rounds", Title: title,
		Table: c.table()}})
	return experiment.Page(experiment.Front{Title: "SPDL: chain " + c.Audit.ChainID, Verdict: c.verdict(),
		Warnings: c.warnings(), Note: c.played(), About: about}, sections)
}

// warnings returns what a reader must know first: a divergence, known noise, and attackers.
func (c chain) warnings() (out []string) {
	if d := c.Audit.Divergence; d != nil {
		out = append(out, fmt.Sprintf("THE REPLAY DIVERGES at height %d, and ends there: %s.", d.Height, d.Reason))
	}
	if app.KnownNoise(c.State.Params, c.State.Epochs) {
		out = append(out, "A TEST CHAIN: its noise may be known, so epsilon is on paper only.")
	}
	if accused := c.accusation(); accused != "" {
		out = append(out, accused)
	}
	return out
}

// line returns a line with one number of each round.
func (c chain) line(name string, of func(history.Round) float64) figure.Line {
	l := figure.Line{Name: name}
	for _, r := range c.Rounds {
		l.X, l.Y = append(l.X, r.At), append(l.Y, of(r))
	}
	return l
}

// few is the max number of lines of reputations.
const few = 8

// drawings returns a figure for each panel, with its own legend.
func (c chain) drawings(notes []figure.Note) ([]experiment.Drawing, error) {
	var all []experiment.Drawing
	for _, p := range c.panels() {
		svg, _, err := figure.Figure{Panels: []figure.Panel{p}}.Draw(notes)
		if err != nil {
			return nil, err
		}
		all = append(all, experiment.Drawing{Title: p.Title, SVG: svg})
	}
	return all, nil
}

// panels returns the course of the training: accuracy, gradients, reputations and the largest spend.
func (c chain) panels() []figure.Panel {
	const x = "rounds closed"
	included := c.line("included", func(r history.Round) float64 { return float64(len(r.Contributions)) })
	accuracy := c.line("test accuracy", func(r history.Round) float64 { return 100 * r.Accuracy })
	people := float64(len(c.State.Participants))
	base := floor(accuracy.Y)
	panels := []figure.Panel{
		{Title: "test accuracy of the model", X: x, Y: "test accuracy", Base: base, Top: 100,
			YMarks: figure.RoundMarks(base, 100, " %"), Lines: []figure.Line{accuracy}},
		{Title: "gradients", X: x, Y: "number", Top: people * 1.05, YMarks: figure.RoundMarks(0, people, ""),
			Lines: []figure.Line{included,
				c.line("selected", func(r history.Round) float64 { return float64(r.Selected()) })}},
		{Title: "reputation", X: x, Y: "share of one", Top: 1.05, YMarks: figure.RoundMarks(0, 1, ""),
			Lines: c.reputations()},
	}
	spent := c.line("epsilon", func(r history.Round) float64 { return r.Epsilon })
	if !math.IsNaN(spent.Y[len(spent.Y)-1]) {
		panels = append(panels, figure.Panel{Title: "privacy: largest spend", X: x, Y: fmt.Sprintf("epsilon at delta %g",
			c.Params.Privacy.Delta), Lines: []figure.Line{spent}})
	}
	last := c.Rounds[len(c.Rounds)-1].At
	for i := range panels {
		panels[i].Marks = append([]figure.Mark{{At: 1, Text: "1"}}, figure.RoundMarks(1.5, last, "")...)
	}
	return panels
}

// floor returns the greatest multiple of 5 that is below all values, which are per cent, or 0: an
// axis from there on shows what the model learns.
func floor(values []float64) float64 {
	least := 100.0
	for _, y := range values {
		if !math.IsNaN(y) {
			least = min(least, y)
		}
	}
	return max(0, 5*math.Ceil(least/5)-5)
}

// reputations returns a line for each distinct course of reputations, which several participants
// may share. If there are more than few courses, it returns the greatest and the least reputation
// of each round.
func (c chain) reputations() []figure.Line {
	var lines []figure.Line
	var members [][]uint32 // of each line
	for i, p := range c.State.Participants {
		line := c.line("", func(r history.Round) float64 {
			if i < len(r.Reputations) {
				return r.Reputations[i]
			}
			return math.NaN() // not yet a member
		})
		at := slices.IndexFunc(lines, func(l figure.Line) bool {
			return slices.EqualFunc(l.Y, line.Y, func(a, b float64) bool { return a == b || a != a && b != b })
		})
		if at < 0 {
			at, lines, members = len(lines), append(lines, line), append(members, nil)
		}
		members[at] = append(members[at], p.Index)
	}
	if len(lines) > few {
		return []figure.Line{
			c.line("greatest", func(r history.Round) float64 { return slices.Max(r.Reputations) }),
			c.line("least", func(r history.Round) float64 { return slices.Min(r.Reputations) }),
		}
	}
	for i := range lines {
		lines[i].Name = c.names(members[i])
	}
	return lines
}

// names returns the names of up to three participants. If there are more, it returns the first name
// and the number of the others.
func (c chain) names(indices []uint32) string {
	shown := indices[:min(len(indices), 3)]
	var names []string
	for _, i := range shown {
		names = append(names, c.name(i))
	}
	text := strings.Join(names, ", ")
	if more := len(indices) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// name returns a participant's name with its index.
func (c chain) name(i uint32) string {
	if int(i) >= len(c.State.Participants) {
		return fmt.Sprintf("#%d", i)
	}
	return fmt.Sprintf("%s (#%d)", c.State.Participants[i].Moniker, i)
}

// participants returns a row for each participant, those with the most trouble first, and the rows
// of those that look like attackers.
func (c chain) participants() (t experiment.Table, bad map[int]bool) {
	t.Head = []string{"participant", "looks like", "reputation", "included", "selected", "opposed to Delta", "absent",
		"rounds led", "passed over", "epsilon", "rounds left"}
	if len(c.Attacks) > 0 {
		t.Head = slices.Insert(t.Head, 1, "by the manifest")
	}
	passed := map[uint32]int{}
	for _, b := range c.Audit.BadLeaders {
		passed[b.Participant]++
	}
	suspects := c.suspects()
	order := slices.Clone(c.State.Participants)
	slices.SortStableFunc(order, func(a, b app.Participant) int {
		x, y := c.tally(a.Index), c.tally(b.Index)
		return cmp.Or(cmp.Compare(len(suspects[b.Index]), len(suspects[a.Index])),
			cmp.Compare(a.Reputation, b.Reputation),
			cmp.Compare(y.Opposed+y.Absent+passed[b.Index], x.Opposed+x.Absent+passed[a.Index]))
	})
	bad = map[int]bool{}
	for i, p := range order {
		n, looks, name := c.tally(p.Index), "honest", c.name(p.Index)
		if len(suspects[p.Index]) > 0 {
			looks, bad[i] = "an attacker", true
		}
		if !p.Active {
			name += ", left"
		}
		epsilon, left := "-", "-"
		if at := int(p.Index); at < len(c.Audit.Spend) && c.Audit.Spend[at].Epsilon != nil {
			epsilon = accountant.Text(*c.Audit.Spend[at].Epsilon)
			left = strconv.FormatUint(*c.Audit.Spend[at].Left, 10)
		}
		row := []string{name, looks, fmt.Sprintf("%.3f", float64(p.Reputation)/params.One), strconv.Itoa(n.Included),
			strconv.Itoa(n.Selected), strconv.Itoa(n.Opposed), strconv.Itoa(n.Absent), strconv.Itoa(n.Led),
			strconv.Itoa(passed[p.Index]), epsilon, left}
		if len(c.Attacks) > 0 {
			row = slices.Insert(row, 1, cmp.Or(c.Attacks[p.Index], "honest"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, bad
}

// tally returns the counts of a participant, zero if the chain closed no round since it joined.
func (c chain) tally(participant uint32) history.Tally {
	if int(participant) >= len(c.Count) {
		return history.Tally{}
	}
	return c.Count[participant]
}

// fewestAbsent is the min number of rounds of an absence among the incidents: a gradient that came
// late once is none.
const fewestAbsent = 2

// incidents returns a row for each proven offence, each run of opposed gradients, each absence and
// each leader that was passed over.
func (c chain) incidents() experiment.Table {
	t := experiment.Table{Head: []string{"incident", "participant", "epoch", "round", "view", "height"}}
	for _, o := range c.Audit.Offences {
		t.Rows = append(t.Rows, []string{"proven offence: two different statements (" + o.Cause() + ")",
			c.name(o.Participant), fmt.Sprint(o.Epoch), fmt.Sprint(o.Round), fmt.Sprint(o.View), fmt.Sprint(o.Height)})
	}
	runs := func(what string, runs []history.Run, fewest uint64) {
		for _, r := range runs {
			if r.Count >= fewest {
				t.Rows = append(t.Rows, []string{fmt.Sprintf("%s in %d of %d rounds", what, r.Count, r.Last-r.First+1),
					c.name(r.Participant), fmt.Sprint(r.Epoch), span(r.First, r.Last), "-", span(r.FromHeight, r.LastHeight)})
			}
		}
	}
	runs("opposed to Delta", c.Runs, 1)
	runs("absent: no gradient", c.Gaps, fewestAbsent)
	for _, b := range c.Audit.BadLeaders {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("did not lead; %s did", c.name(b.ClosedBy)), c.name(b.Participant),
			fmt.Sprint(b.Epoch), fmt.Sprint(b.Round), fmt.Sprint(b.View), fmt.Sprint(b.Height)})
	}
	return t
}

// span returns the text of a range of numbers.
func span(from, to uint64) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

// table returns a row for each round of the report.
func (c chain) table() experiment.Table {
	t := experiment.Table{Head: []string{"epoch/round", "height", "leader", "view", "included", "selected",
		"test accuracy", "epsilon"}}
	number := func(x float64, text func(float64) string) string {
		if math.IsNaN(x) {
			return "-"
		}
		return text(x)
	}
	percent := func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }
	for _, r := range c.Rounds {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%d/%d", r.Epoch, r.Round), fmt.Sprint(r.Height), c.name(r.Leader), fmt.Sprint(r.View),
			fmt.Sprint(len(r.Contributions)),
			strconv.Itoa(r.Selected()), number(r.Accuracy, percent), number(r.Epsilon, accountant.Text),
		})
	}
	return t
}
