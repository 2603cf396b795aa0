package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// features compares the presets with strokes and with pixels as inputs, under every attack and with
// heterogeneous data.
var features = Experiment{
	Name: "features",
	Title: "Features: the default preset, on strokes, beside pixels; clean and under every attack of f, and " +
		"Dirichlet data",
	Reads: "clean accuracy is from the least to the greatest of the seeds, the worst that of any attack and seed",
	wide:  true,
	cells: func(o Options) ([]Cell, error) {
		sizes := []int{4, 10, gridNodes}
		if o.Quick {
			sizes = []int{4}
		}
		var cells []Cell
		for _, n := range sizes {
			for _, name := range []string{"default", "pixels"} {
				s, err := o.preset(name, n)
				if err != nil {
					return nil, err
				}
				cells = append(cells, presetRow(fmt.Sprintf("N=%d", n), s, attacksFor(o))...)
				for _, alpha := range []float64{0.5, 0.1} {
					if n != gridNodes {
						continue
					}
					s.Alpha = alpha
					cells = append(cells, presetRow(fmt.Sprintf("N=%d, Dirichlet %g", n, alpha), s, []string{"sign-flip"})...)
				}
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		f := figure.Figure{Title: "Features"}
		t := Table{Head: []string{"setting", attackersColumn, "preset", "epsilon", "clean", "worst", "worst attack",
			"worst class", "backdoor"}}
		for _, panel := range r.panels() {
			m, lines := r.presetGrid(panel)
			f.Panels = append(f.Panels, figure.Panel{Title: panel + ": test error in %", Map: &m})
			t.Rows = append(t.Rows, lines...)
		}
		return f, t
	},
}

// preset returns a training of a preset. Only a quick run changes it, to fewer rounds.
func (o Options) preset(name string, n int) (train.Spec, error) {
	s, err := train.Preset(name, n)
	if o.Quick {
		s.Params.Training.Rounds = quickFew
	}
	return s, err
}

// presetRow trains a preset without an attack and under each attack, with the max tolerated number
// of attackers.
func presetRow(panel string, s train.Spec, names []string) []Cell {
	name := s.Params.Preset
	cells := []Cell{{Panel: panel, Series: cross(name, clean), Learn: &s}}
	for _, attack := range names {
		under := s
		under.Byzantine, under.Attack = params.MaxByzantine(s.Nodes), "aware+"+attack
		cells = append(cells, Cell{Panel: panel, Series: cross(name, attack), Learn: &under})
	}
	return cells
}

// presetGrid returns the map of a panel, one row per preset, and its lines of the table.
func (r Results) presetGrid(panel string) (figure.Map, [][]string) {
	here := r.inPanel(panel)
	m := here.frame()
	var table [][]string
	for _, name := range m.Rows {
		line := make([]float64, 0, len(m.Columns))
		worst, by := math.NaN(), "-"
		var under Results // attack
		for _, attack := range m.Columns {
			cell := here.of(panel, cross(name, attack))
			if attack != clean {
				under = append(under, cell...)
			}
			e := cell.worst("test_error")
			line = append(line, e)
			if attack != clean && (math.IsNaN(worst) || e > worst) {
				worst, by = e, attack
			}
		}
		undisturbed := here.of(panel, cross(name, clean))
		least := undisturbed.least("test_error")
		m.Values = append(m.Values, line)
		table = append(table, []string{
			panel, here.attackers(), name, number(undisturbed[0].Cell.Learn.Params.Privacy.Epsilon),
			fmt.Sprintf("%s to %s", number(1-undisturbed.worst("test_error")), number(1-least)), number(1 - worst), by,
			number(under.worst("worst_class")), number(under.worst("backdoor")),
		})
	}
	return m, table
}
