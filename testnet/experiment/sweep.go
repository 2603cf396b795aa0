package experiment

import (
	"math"
	"slices"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// axis describes a sweep's X: its name, and the number that is shown for an X. The zero axis means no sweep.
type axis struct {
	name string
	show func(x float64) string
}

// sweep draws the last test error against X on a logarithmic axis, which shows the numbers
// themselves, and makes a table of it.
func (r Results) sweep(a axis) (figure.Figure, Table) {
	f := figure.Figure{Title: "Test error against " + a.name}
	t := Table{Head: r.head(a.name)}
	first := len(t.Head) - len(r.series()) // column of the series
	var marks []figure.Mark
	var most float64
	for _, x := range r {
		if !slices.ContainsFunc(marks, func(m figure.Mark) bool { return m.At == x.Cell.X }) {
			marks = append(marks, figure.Mark{At: x.Cell.X, Text: a.show(x.Cell.X)})
		}
		most = max(most, x.last("test_error"))
	}
	top := math.Ceil(10*most) / 10 // one scale for all panels
	for _, panel := range r.panels() {
		p := figure.Panel{Title: panel, X: a.name, Y: "test error", Top: top, Marks: marks}
		at := map[float64]int{}
		for i, series := range r.series() {
			l := r.of(panel, series).finals(series, "test_error")
			p.Lines = append(p.Lines, l)
			for k, x := range l.X {
				if _, ok := at[x]; !ok {
					at[x] = len(t.Rows)
					t.Rows = append(t.Rows, make([]string, len(t.Head)))
					t.Rows[at[x]][0] = panel + ", " + a.show(x)
					if r.attacked() {
						t.Rows[at[x]][1] = r.inPanel(panel).attackers()
					}
				}
				t.Rows[at[x]][first+i] = ranged(l, k, 3)
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f, t
}
