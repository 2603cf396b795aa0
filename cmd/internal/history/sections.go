package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// Page returns the report: one HTML file. Command and version are those that make it.
func (c *Chain) Page(command, version string) ([]byte, error) {
	notes := []figure.Note{
		{Name: "command", Text: command}, {Name: "chain", Text: c.Audit.ChainID},
		{Name: "application hash", Text: c.Audit.AppHash}, {Name: "version", Text: version},
	}
	svg, _, err := c.figure().Draw(notes)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("Chain %s: %d rounds in heights %d to %d, %d gradients, under %s for f=%d. All of it was "+
		"executed again from the "+
		"blocks, and %d signatures of validators were verified.", c.Audit.ChainID, c.Audit.Rounds, c.Audit.First,
		c.Audit.Last, c.Audit.Gradients,
		c.params.Rule.Name, c.params.Rule.Byzantine, c.Audit.Signatures)
	if c.unmeasured != "" {
		about += " Models were not measured: " + c.unmeasured + "."
	}
	var warnings []string
	if d := c.Audit.Divergence; d != nil {
		warnings = append(warnings, fmt.Sprintf("THE REPLAY DIVERGES at height %d, and ends there: %s.", d.Height, d.Reason))
	}
	if app.KnownNoise(c.state.Params, c.state.Epochs) {
		warnings = append(warnings, "A TEST CHAIN: its noise may be known, so epsilon is on paper only.")
	}
	var sections []experiment.Section
	if t := c.incidents(); len(t.Rows) > 0 {
		sections = append(sections, experiment.Section{Summary: experiment.Summary{Name: "incidents",
			Title: "Proven offences, and leaders passed over", Table: t}})
	}
	sections = append(sections, experiment.Section{SVG: svg, Summary: experiment.Summary{Name: "participants",
		Title: "Training and participants", Notes: notes, Table: c.participants()}})
	title := "Rounds"
	if uint64(len(c.rounds)) < c.Audit.Rounds {
		title = fmt.Sprintf("Rounds: %d of %d", len(c.rounds), c.Audit.Rounds)
	}
	sections = append(sections, experiment.Section{Folded: true, Summary: experiment.Summary{Name: "rounds", Title: title,
		Table: c.table()}})
	return experiment.Page("SPDL: chain "+c.Audit.ChainID, about, warnings, sections)
}

// line returns a number of each round.
func (c *Chain) line(name string, of func(round) float64) figure.Line {
	l := figure.Line{Name: name}
	for _, r := range c.rounds {
		l.X, l.Y = append(l.X, r.at), append(l.Y, of(r))
	}
	return l
}

// few is the largest number of participants that have a line each.
const few = 10

// figure draws the course of the training: error, gradients, reputations and the largest spend.
func (c *Chain) figure() figure.Figure {
	const x = "rounds closed"
	reputations := figure.Panel{Title: "reputation", X: x, Y: "share of one", Top: 1.1}
	if n := len(c.state.Participants); n <= few {
		for i := range n {
			reputations.Lines = append(reputations.Lines, c.line(fmt.Sprintf("participant %d", i), func(r round) float64 {
				if i < len(r.reputations) {
					return r.reputations[i]
				}
				return math.NaN() // not yet a member
			}))
		}
	} else {
		reputations.Lines = []figure.Line{
			c.line("greatest", func(r round) float64 { return slices.Max(r.reputations) }),
			c.line("least", func(r round) float64 { return slices.Min(r.reputations) }),
		}
	}
	panels := []figure.Panel{
		{Title: "test error of the model", X: x, Y: "test error",
			Lines: []figure.Line{c.line("test error", func(r round) float64 { return r.wrong })}},
		{Title: "gradients", X: x, Y: "number", Lines: []figure.Line{
			c.line("included", func(r round) float64 { return float64(len(r.Contributions)) }),
			c.line("selected", func(r round) float64 { return float64(r.selected()) }),
		}},
		reputations,
	}
	if spent := c.line("epsilon", func(r round) float64 { return r.epsilon }); !math.IsNaN(spent.Y[len(spent.Y)-1]) {
		panels = append(panels, figure.Panel{Title: "privacy: largest spend", X: x, Y: fmt.Sprintf("epsilon at delta %g",
			c.params.Privacy.Delta), Lines: []figure.Line{spent}})
	}
	return figure.Figure{Title: "chain", Panels: panels}
}

// participants returns a row for each participant.
func (c *Chain) participants() experiment.Table {
	t := experiment.Table{Head: []string{"participant", "moniker", "active", "reputation", "included", "selected",
		"opposed to Delta", "rounds led", "passed over", "epsilon", "rounds left"}}
	passed := map[uint32]int{}
	for _, b := range c.Audit.BadLeaders {
		passed[b.Participant]++
	}
	for i, p := range c.state.Participants {
		var n tally
		if i < len(c.count) {
			n = c.count[i]
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
			strconv.Itoa(i), p.Moniker, active, fmt.Sprintf("%.3f", float64(p.Reputation)/params.One), strconv.Itoa(n.included),
			strconv.Itoa(n.selected),
			strconv.Itoa(n.opposed), strconv.Itoa(n.led), strconv.Itoa(passed[p.Index]), epsilon, left,
		})
	}
	return t
}

// incidents returns a row for each proven offence and each leader that was passed over.
func (c *Chain) incidents() experiment.Table {
	t := experiment.Table{Head: []string{"what", "participant", "epoch", "round", "view", "height"}}
	for _, o := range c.Audit.Offences {
		t.Rows = append(t.Rows, []string{"equivocated", fmt.Sprint(o.Participant), fmt.Sprint(o.Epoch), fmt.Sprint(o.Round),
			fmt.Sprint(o.View), fmt.Sprint(o.Height)})
	}
	for _, b := range c.Audit.BadLeaders {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("did not lead; %d did", b.ClosedBy), fmt.Sprint(b.Participant),
			fmt.Sprint(b.Epoch), fmt.Sprint(b.Round), fmt.Sprint(b.View), fmt.Sprint(b.Height)})
	}
	return t
}

// table returns a row for each round of the report.
func (c *Chain) table() experiment.Table {
	t := experiment.Table{Head: []string{"epoch", "round", "height", "leader", "view", "included", "selected",
		"test error", "epsilon"}}
	number := func(x float64, format string) string {
		if math.IsNaN(x) {
			return "-"
		}
		return fmt.Sprintf(format, x)
	}
	for _, r := range c.rounds {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(r.Epoch), fmt.Sprint(r.Round), fmt.Sprint(r.Height), fmt.Sprint(r.Leader), fmt.Sprint(r.View),
			fmt.Sprint(len(r.Contributions)),
			strconv.Itoa(r.selected()), number(r.wrong, "%.4f"), number(r.epsilon, "%.3f"),
		})
	}
	return t
}
