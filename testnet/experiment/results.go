package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// Result is a finished cell.
type Result struct {
	Cell    Cell     `json:"cell"`
	Seed    uint64   `json:"seed"`
	Version string   `json:"version"`
	Seconds float64  `json:"seconds"`
	Columns []string `json:"columns"`
	Rows    []row    `json:"rows"`
	// Model is the fingerprint of a training's last model, "" if there is none.
	Model string `json:"model,omitempty"`
	// Sum detects a file that was truncated, edited or damaged.
	Sum string `json:"sum"`
}

// row is one line of a result. JSON has no NaN, so it is written as null.
type row []float64

// Results are all cells of an experiment, in the experiment's order. The seeds of a cell follow one another.
type Results []Result

// of returns the results of a panel's series.
func (r Results) of(panel, series string) Results {
	return slices.DeleteFunc(r.inPanel(panel), func(x Result) bool { return x.Cell.Series != series })
}

// inPanel returns the results of a panel.
func (r Results) inPanel(panel string) Results {
	return slices.DeleteFunc(slices.Clone(r), func(x Result) bool { return x.Cell.Panel != panel })
}

// panels and series list the panels and the series of the results, in order.
func (r Results) panels() []string { return names(r, func(c Cell) string { return c.Panel }) }
func (r Results) series() []string { return names(r, func(c Cell) string { return c.Series }) }

func names(r Results, of func(Cell) string) []string {
	var out []string
	for _, x := range r {
		if name := of(x.Cell); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// column returns the position of a column's name.
func (x Result) column(name string) int { return slices.Index(x.Columns, name) }

// last returns the value of a column after the last round.
func (x Result) last(name string) float64 { return x.Rows[len(x.Rows)-1][x.column(name)] }

// curve returns a column over the rounds: the mean over the seeds, with the band from the min to the max.
func (r Results) curve(name, column string) figure.Line {
	return r.reduce(name, func(x Result) (xs, ys []float64) {
		for _, row := range x.Rows {
			xs, ys = append(xs, row[0]), append(ys, row[x.column(column)])
		}
		return xs, ys
	})
}

// finals returns the last value of a column over the cells' X.
func (r Results) finals(name, column string) figure.Line {
	l := r.reduce(name, func(x Result) (xs, ys []float64) { return []float64{x.Cell.X}, []float64{x.last(column)} })
	l.Dots = true
	return l
}

// reduce makes a line of the points of all results. Several points may have the same x, and the line has their mean.
func (r Results) reduce(name string, points func(Result) (xs, ys []float64)) figure.Line {
	at := map[float64][]float64{}
	for _, result := range r {
		xs, ys := points(result)
		for i, x := range xs {
			if !math.IsNaN(ys[i]) {
				at[x] = append(at[x], ys[i])
			}
		}
	}
	l := figure.Line{Name: name}
	seeds := 0
	for x, ys := range at {
		l.X = append(l.X, x)
		seeds = max(seeds, len(ys))
	}
	slices.SortFunc(l.X, cmp.Compare[float64])
	for _, x := range l.X {
		ys := at[x]
		l.Y = append(l.Y, stat.Mean(ys, nil))
		l.Low, l.High = append(l.Low, slices.Min(ys)), append(l.High, slices.Max(ys))
	}
	if seeds < 2 {
		l.Low, l.High = nil, nil
	}
	return l
}

// lasts returns the last values of a column that are numbers.
func (r Results) lasts(column string) (v []float64) {
	for _, x := range r {
		if last := x.last(column); !math.IsNaN(last) {
			v = append(v, last)
		}
	}
	return v
}

// final returns the mean over the seeds of a column's last value, worst and least the largest and the smallest value.
func (r Results) final(column string) float64 { return stat.Mean(r.lasts(column), nil) }
func (r Results) worst(column string) float64 { return extreme(r.lasts(column), slices.Max) }
func (r Results) least(column string) float64 { return extreme(r.lasts(column), slices.Min) }

// extreme returns the max or the min of values, or NaN if there are none.
func extreme(v []float64, of func([]float64) float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return of(v)
}

// cell formats the last value of a column, as ranged does.
func (r Results) cell(column string) string { return ranged(r.finals("", column), 0, 3) }

// ranged formats a point of a line: the mean over the seeds and, of several seeds, the least and the greatest value.
func ranged(l figure.Line, i, n int) string {
	switch {
	case i >= len(l.Y):
		return "-"
	case l.Low == nil:
		return digits(l.Y[i], n)
	}
	return fmt.Sprintf("%s (%s to %s)", digits(l.Y[i], n), digits(l.Low[i], n), digits(l.High[i], n))
}

// errorCurves returns how a figure of test errors over the rounds is drawn.
func errorCurves(title string, top float64) func(Results) (figure.Figure, Table) {
	return func(r Results) (figure.Figure, Table) {
		return figure.Figure{Title: title, Panels: r.curves("test_error", "test error", top)},
			r.table("test error after the last round", "test_error")
	}
}

// mapped returns a line with a function of each x and y, and of the band, in place of y.
func mapped(l figure.Line, of func(x, y float64) float64) figure.Line {
	all := func(ys []float64) (out []float64) {
		for i, y := range ys {
			out = append(out, of(l.X[i], y))
		}
		return out
	}
	l.Y, l.Low, l.High = all(l.Y), all(l.Low), all(l.High)
	for i := range l.Low {
		l.Low[i], l.High[i] = min(l.Low[i], l.High[i]), max(l.Low[i], l.High[i])
	}
	return l
}

// curves returns a panel for each of the results' panels, with a line for each series.
func (r Results) curves(column, y string, top float64) []figure.Panel {
	var out []figure.Panel
	for _, panel := range r.panels() {
		p := figure.Panel{Title: panel, X: "round", Y: y, Top: top}
		for _, series := range r.series() {
			if some := r.of(panel, series); len(some) > 0 {
				p.Lines = append(p.Lines, some.curve(series, column))
			}
		}
		out = append(out, p)
	}
	return out
}

// attackers formats the number of attackers and of participants in the trainings, as "6 of 20".
func (r Results) attackers() string {
	attackers, participants := 0, 0
	for _, x := range r {
		if s := x.Cell.Learn; s != nil {
			attackers, participants = max(attackers, s.Byzantine), max(participants, s.Nodes)
		}
	}
	return fmt.Sprintf("%d of %d", attackers, participants)
}

// attacked reports whether a training has attackers.
func (r Results) attacked() bool {
	return slices.ContainsFunc(r, func(x Result) bool { return x.Cell.Learn != nil && x.Cell.Learn.Byzantine > 0 })
}

// attackersColumn is the name of the column with the attackers.
const attackersColumn = "attackers"

// head returns the names of a table's columns: the corner, the attackers if there are any, and the series.
func (r Results) head(corner string) []string {
	names := []string{corner}
	if r.attacked() {
		names = append(names, attackersColumn)
	}
	return append(names, r.series()...)
}

// table returns the last value of a column, by panel and series.
func (r Results) table(corner, column string) Table {
	t := Table{Head: r.head(corner)}
	for _, panel := range r.panels() {
		line := []string{panel}
		if r.attacked() {
			line = append(line, r.inPanel(panel).attackers())
		}
		for _, series := range r.series() {
			line = append(line, r.of(panel, series).cell(column))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

func number(x float64) string { return digits(x, 3) }

// number4 formats accuracies whose first three digits are the same.
func number4(x float64) string { return digits(x, 4) }

func digits(x float64, n int) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.*f", n, x)
}

// median returns the median of a column over all rounds of all seeds that have a number.
func (r Results) median(column string) float64 {
	var v []float64
	for _, x := range r {
		for _, row := range x.Rows {
			if n := row[x.column(column)]; !math.IsNaN(n) {
				v = append(v, n)
			}
		}
	}
	return medianOf(v)
}

// medianOf returns the median of values, which it sorts.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
