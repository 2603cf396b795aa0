// Package page makes the report of a chain's history: one HTML file with figures.
package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/testnet/experiment"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// chain is a history with the functions that show it.
type chain struct{ *history.Chain }

// Of returns the report: one HTML file. The report names command and version, which made it.
func Of(h *history.Chain, command, version string) ([]byte, error) {
	c := chain{h}
	notes := []figure.Note{
		{Name: "command", Text: command}, {Name: "chain", Text: c.Audit.ChainID},
		{Name: "application hash", Text: c.Audit.AppHash}, {Name: "version", Text: version},
	}
	drawings, err := c.drawings(notes)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("The chain has %d rounds in heights %d to %d, and %d gradients, under %s for f=%d. All of it "+
		"was executed again from the blocks, and %d signatures of validators were verified.", c.Audit.Rounds,
		c.Audit.First, c.Audit.Last, c.Audit.Gradients, c.Params.Rule.Name, c.Params.Rule.Byzantine, c.Audit.Signatures)
	if c.Unmeasured != "" {
		about += " Models were not measured: " + c.Unmeasured + "."
	}
	var warnings []string
	if d := c.Audit.Divergence; d != nil {
		warnings = append(warnings, fmt.Sprintf("THE REPLAY DIVERGES at height %d, and ends there: %s.", d.Height, d.Reason))
	}
	if app.KnownNoise(c.State.Params, c.State.Epochs) {
		warnings = append(warnings, "A TEST CHAIN: its noise may be known, so epsilon is on paper only.")
	}
	if accused := c.suspects(); accused != "" {
		warnings = append(warnings, accused)
	}
	var sections []experiment.Section
	if t := c.incidents(); len(t.Rows) > 0 {
		sections = append(sections, experiment.Section{Summary: experiment.Summary{Name: "incidents",
			Title: "Proven offences, opposed gradients and leaders passed over", Table: t}})
	}
	sections = append(sections, experiment.Section{Drawings: drawings, Summary: experiment.Summary{
		Name: "participants", Title: "Training and participants", Notes: notes, Table: c.participants()}})
	title := "Rounds"
	if uint64(len(c.Rounds)) < c.Audit.Rounds {
		title = fmt.Sprintf("Rounds: %d of %d", len(c.Rounds), c.Audit.Rounds)
	}
	sections = append(sections, experiment.Section{Folded: true, Summary: experiment.Summary{Name: "rounds", Title: title,
		Table: c.table()}})
	return experiment.Page("SPDL: chain "+c.Audit.ChainID, c.verdict(), about, warnings, sections)
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

// panels returns the course of the training: error, gradients, reputations and the largest spend.
func (c chain) panels() []figure.Panel {
	const x = "rounds closed"
	panels := []figure.Panel{
		{Title: "test error of the model", X: x, Y: "test error",
			Lines: []figure.Line{c.line("test error", func(r history.Round) float64 { return 1 - r.Accuracy })}},
		{Title: "gradients", X: x, Y: "number", Lines: []figure.Line{
			c.line("included", func(r history.Round) float64 { return float64(len(r.Contributions)) }),
			c.line("selected", func(r history.Round) float64 { return float64(r.Selected()) }),
		}},
		{Title: "reputation", X: x, Y: "share of one", Top: 1.1, Lines: c.reputations()},
	}
	spent := c.line("epsilon", func(r history.Round) float64 { return r.Epsilon })
	if !math.IsNaN(spent.Y[len(spent.Y)-1]) {
		panels = append(panels, figure.Panel{Title: "privacy: largest spend", X: x, Y: fmt.Sprintf("epsilon at delta %g",
			c.Params.Privacy.Delta), Lines: []figure.Line{spent}})
	}
	return panels
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

// participants returns a row for each participant.
func (c chain) participants() experiment.Table {
	t := experiment.Table{Head: []string{"participant", "active", "reputation", "included", "selected",
		"opposed to Delta", "rounds led", "passed over", "epsilon", "rounds left"}}
	passed := map[uint32]int{}
	for _, b := range c.Audit.BadLeaders {
		passed[b.Participant]++
	}
	for i, p := range c.State.Participants {
		var n history.Tally
		if i < len(c.Count) {
			n = c.Count[i]
		}
		active, epsilon, left := "yes", "-", "-"
		if !p.Active {
			active = "no"
		}
		if i < len(c.Audit.Spend) && c.Audit.Spend[i].Epsilon != nil {
			epsilon = fmt.Sprintf("%.3f", *c.Audit.Spend[i].Epsilon)
			left = strconv.FormatUint(*c.Audit.Spend[i].Left, 10)
		}
		t.Rows = append(t.Rows, []string{
			c.name(p.Index), active, fmt.Sprintf("%.3f", float64(p.Reputation)/params.One), strconv.Itoa(n.Included),
			strconv.Itoa(n.Selected), strconv.Itoa(n.Opposed), strconv.Itoa(n.Led), strconv.Itoa(passed[p.Index]), epsilon, left,
		})
	}
	return t
}

// incidents returns a row for each proven offence, each run of opposed gradients and each leader
// that was passed over.
func (c chain) incidents() experiment.Table {
	t := experiment.Table{Head: []string{"what", "participant", "epoch", "round", "view", "height"}}
	for _, o := range c.Audit.Offences {
		t.Rows = append(t.Rows, []string{"equivocated", c.name(o.Participant), fmt.Sprint(o.Epoch), fmt.Sprint(o.Round),
			fmt.Sprint(o.View), fmt.Sprint(o.Height)})
	}
	for _, r := range c.Runs {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("opposed to Delta in %d of %d rounds", r.Count, r.Last-r.First+1),
			c.name(r.Participant), fmt.Sprint(r.Epoch), span(r.First, r.Last), "-", span(r.FromHeight, r.LastHeight)})
	}
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
		"test error", "epsilon"}}
	number := func(x float64, format string) string {
		if math.IsNaN(x) {
			return "-"
		}
		return fmt.Sprintf(format, x)
	}
	for _, r := range c.Rounds {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%d/%d", r.Epoch, r.Round), fmt.Sprint(r.Height), c.name(r.Leader), fmt.Sprint(r.View),
			fmt.Sprint(len(r.Contributions)),
			strconv.Itoa(r.Selected()), number(1-r.Accuracy, "%.4f"), number(r.Epsilon, "%.3f"),
		})
	}
	return t
}
