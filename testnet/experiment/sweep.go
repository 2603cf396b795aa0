package experiment

import (
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// sweep draws the last test error against X, and tables it.
func (r Results) sweep(axis, name string, show func(x float64) string) (figure.Figure, Table) {
	f := figure.Figure{Title: axis}
	t := Table{Head: append([]string{name}, r.series()...)}
	for _, panel := range r.panels() {
		p := figure.Panel{Title: panel, X: axis, Y: "test error", Top: 1}
		at := map[float64]int{}
		for i, series := range r.series() {
			l := r.of(panel, series).finals(series, "test_error")
			p.Lines = append(p.Lines, l)
			for k, x := range l.X {
				if _, ok := at[x]; !ok {
					at[x] = len(t.Rows)
					t.Rows = append(t.Rows, append([]string{panel + ", " + show(x)}, make([]string, len(r.series()))...))
				}
				t.Rows[at[x]][i+1] = number(l.Y[k])
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f, t
}
