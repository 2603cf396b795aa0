package pages

import (
	"bytes"
	"html/template"
	"math"
	"strings"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

// A Curve is a line of a Figure: values by round, NaN where a round has none.
type Curve struct {
	Name   string // "" for the only line of a figure
	Alarm  string // OK, Watch, Differs, Suspect, or "" for a line that accuses nobody
	Rounds []uint64
	Values []float64
}

// A Figure is a picture of values by round, as the explorer draws it, for other pages with the style sheet of Style.
type Figure struct {
	Name, Title, Legend string  // a single unnamed curve describes itself in place of Legend
	Across              string  // what the horizontal axis counts
	Share               bool    // the values are shares, and shown as per cent
	Spent               bool    // the values are epsilon, and Top, if it is not 0, the budget
	Top                 float64 // the upper end of the vertical axis, if no value is above it
	Curves              []Curve
}

// HTML returns the figure, or "" if no curve has two values.
func (f Figure) HTML() (template.HTML, error) {
	c := chart{Name: f.Name, Title: f.Title, Legend: f.Legend, Across: f.Across}
	switch {
	case f.Share:
		c.Unit = "%"
	case f.Spent:
		c.Unit = spentUnit
	}
	from, until, highest := uint64(math.MaxUint64), uint64(0), 0.0
	lines := make([]line, len(f.Curves))
	for i, curve := range f.Curves {
		lines[i].Class, lines[i].Name = curve.Alarm, curve.Name
		for k, y := range curve.Values {
			if chainview.Finite(y) != nil {
				lines[i].dots = append(lines[i].dots, dot{curve.Rounds[k], y})
				from, until, highest = min(from, curve.Rounds[k]), max(until, curve.Rounds[k]), max(highest, y)
			}
		}
	}
	switch {
	case from >= until:
		return "", nil
	case len(lines) == 1 && f.Curves[0].Name == "":
		if c.dots = lines[0].dots; len(c.dots) > 1 {
			c.one(from, until, f.Top)
		}
	default:
		c.many(lines, from, until, max(f.Top, highest))
	}
	var b bytes.Buffer
	err := templates["home"].ExecuteTemplate(&b, "chart", c)
	return template.HTML(b.String()), err
}

// many draws lines, and a key of those with a name. Named lines with one alarm differ in dashes.
func (c *chart) many(lines []line, from, until uint64, top float64) {
	lowest := top
	for _, l := range lines {
		for _, d := range l.dots {
			lowest = min(lowest, d.value)
		}
	}
	if c.Unit == "%" && shareBelow(lowest) > 0 {
		c.base = shareBelow(lowest)
		c.Legend = strings.TrimSuffix(c.Legend, ".") + "; the axis begins at " + c.label(c.base)
	}
	c.axes(from, until, top)
	same := map[string]int{}
	for _, l := range lines {
		if len(l.dots) == 0 {
			continue
		}
		if l.Name != "" {
			l.Look, same[l.Class] = same[l.Class]%4, same[l.Class]+1
			c.Keys = append(c.Keys, l)
		}
		l.Points = c.polyline(l.dots)
		c.Lines = append(c.Lines, l)
	}
}
