package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/explorer"
	"github.com/spdl/spdl/privacy/accountant"
)

// columnRunes is the number of characters of a moniker in the table.
const columnRunes = 16

// row is a participant's line of the table.
type row struct {
	text       string
	trouble    int
	reputation int64
}

// minColumns is the number of columns that a table has at any width: number, name, reputation and
// the last round.
const minColumns = 4

// table returns the heading of the table and a line for each participant. The columns that do not
// fit on a screen are left out from the right, and the lines of narrow name them.
func table(v *view, troubleFirst bool, width int) (lines, narrow []line) {
	names, cells := cellsOf(v)
	most := len(names)
	text := written(names, cells, most)
	for ; width > 0 && most > minColumns && len(marks[0])+widest(text) > width; most-- {
		text = written(names, cells, most-1)
	}
	if most < len(names) {
		narrow = []line{{"not shown at this width: " + strings.Join(names[most:], ", "), none}}
	}
	rows := []row{}
	refused := v.refused()
	for i, p := range v.Standings {
		level := trouble(p, contribution(v.Last, p.Participant), refused[p.Participant] != "", v.Last != nil)
		rows = append(rows, row{marks[level] + text[i+1], level, p.Reputation})
	}
	if troubleFirst {
		slices.SortStableFunc(rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(b.trouble, a.trouble), cmp.Compare(a.reputation, b.reputation))
		})
	}
	lines = []line{{marks[0] + text[0], bold}}
	for _, r := range rows {
		lines = append(lines, line{r.text, tints[r.trouble]})
	}
	return lines, narrow
}

// refused returns the reasons for which the node rejected signed gradients, by participant.
func (v *view) refused() map[uint32]string {
	out := map[uint32]string{}
	for _, x := range v.Refused {
		if x.Signed {
			out[x.Participant] = x.Reason
		}
	}
	return out
}

// cellsOf returns the names of the table's columns, the most important first, and the cells of each
// participant. There are weights if the rule of the last round gives them, and budgets if they differ.
func cellsOf(v *view) (names []string, cells [][]string) {
	spend := map[uint32]query.Spend{}
	budgets := map[float64]bool{}
	for _, p := range v.Spend {
		spend[p.Participant], budgets[p.Budget] = p, true
	}
	weighs, several := v.Last != nil && query.Weighs(v.Last.Rule), len(budgets) > 1
	names = []string{"#", "moniker", "reputation", "last round", "weight", "offences", "epsilon", "budget pays",
		"gradients", "budget"}
	refused := v.refused()
	for _, p := range v.Standings {
		c := contribution(v.Last, p.Participant)
		epsilon, left, budget, weight := "-", "-", "-", "-"
		if a, ok := spend[p.Participant]; ok && a.Epsilon != nil {
			epsilon, budget = accountant.Text(*a.Epsilon), fmt.Sprintf("%g", a.Budget)
			if a.Left != nil {
				left = fmt.Sprintf("%d more", *a.Left)
			}
		}
		if c != nil {
			weight = query.WeightText(query.WeightOf(v.Last, *c))
		}
		cells = append(cells, []string{fmt.Sprint(p.Participant), oneLine(p.Moniker, columnRunes),
			fmt.Sprintf("%.3f", float64(p.Reputation)/params.One), fateOf(c, refused[p.Participant]), weight,
			fmt.Sprint(p.Offences), epsilon, left, fmt.Sprint(p.Participations), budget})
	}
	for _, x := range []struct {
		name string
		has  bool
	}{{"weight", weighs}, {"budget", several}} {
		if i := slices.Index(names, x.name); !x.has {
			names = slices.Delete(names, i, i+1)
			for k := range cells {
				cells[k] = slices.Delete(cells[k], i, i+1)
			}
		}
	}
	return names, cells
}

// written returns the lines of the table's first columns, the heading first.
func written(names []string, cells [][]string, columns int) []string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{names}, cells...) {
		fmt.Fprintln(t, strings.Join(row[:columns], "\t"))
	}
	_ = t.Flush() // to a strings.Builder
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// widest returns the length of the longest line in characters.
func widest(lines []string) (most int) {
	for _, l := range lines {
		most = max(most, utf8.RuneCountInString(l))
	}
	return most
}

// tints and marks show the levels of trouble, with and without colours.
var (
	tints = []tint{none, yellow, red, red}
	marks = []string{"   ", "!  ", "!! ", "!! "}
)

// trouble ranks the trouble of a participant: 3 for a proven offence; 2 for a reputation below a
// half, a gradient that opposed Delta or was rejected, or missed turns as leader that make it a
// suspect in the explorer; 1 for fewer missed turns that the explorer watches, or a gradient that
// was left out or is missing; and 0 for none.
func trouble(p query.Standing, c *app.Contribution, refused, closed bool) int {
	alarm, _ := explorer.Leads(int(p.PassedOver))
	switch {
	case p.Offences > 0:
		return 3
	case p.Reputation < params.One/2, c != nil && c.Opposed, refused && c == nil, alarm == explorer.Suspect:
		return 2
	case alarm == explorer.Watch, closed && (c == nil || !c.Selected):
		return 1
	}
	return 0
}

// fateOf returns the result of a participant's gradient in the last round, nil if it is not included.
// refused is the node's reason for a rejection, "" if the node rejected no gradient of the
// participant.
func fateOf(c *app.Contribution, refused string) string {
	fate := "left out"
	switch {
	case c == nil && refused != "":
		return "rejected: " + name(refused)
	case c == nil:
		return "absent"
	case c.Selected:
		fate = "selected"
	}
	if c.Opposed {
		fate += ", opposed"
	}
	return fate
}
