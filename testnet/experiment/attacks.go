package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// attacks are rules under every attack, on the default preset's chain: with
// its noise and its noise floor, which the attackers know, and without either.
var attacks = Experiment{
	Name:  "attacks",
	Title: "Rules under attack, test error in %: N=20, f=6; epsilon 4 with the noise floor, which attackers know, and no noise",
	Reads: "each cell is the worst of the seeds, clean accuracy their mean",
	wide:  true,
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, name := range attacksFor(o) {
			if !slices.Contains(attack.Names(), name) { // their aware variants are what the grid uses anyway
				return nil, fmt.Errorf("unknown attack %q, want some of %s, or all", name, strings.Join(attack.Names(), ", "))
			}
		}
		for _, rule := range rulesFor(o) {
			if _, err := rules.Lookup(rule); err != nil {
				return nil, err
			}
			private, err := o.private(rule, gridNodes, 4)
			if err != nil {
				return nil, err
			}
			private.Every = 0
			if _, err := private.Params.Validate(gridNodes); err != nil {
				if slices.Equal(o.Rules, everything) {
					continue // it cannot aggregate N-f of so few
				}
				return nil, err
			}
			exact, err := train.Noiseless(private)
			if err != nil {
				return nil, err
			}
			cells = append(cells, gridRow("epsilon 4", private, attacksFor(o))...)
			cells = append(cells, gridRow("no noise", exact, attacksFor(o))...)
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		f := figure.Figure{Title: "Attacks and rules"}
		t := Table{Head: []string{"noise", "rule", "clean accuracy", "worst accuracy", "worst attack", "second worst", "refused", "outside its theorem"}}
		for _, panel := range r.panels() {
			m, lines := r.grid(panel)
			f.Panels = append(f.Panels, figure.Panel{Title: panel + ": test error in %", Map: &m})
			t.Rows = append(t.Rows, lines...)
		}
		return f, t
	},
}

// clean is the grid's column without attackers.
const clean = "none"

// gridRow returns a rule under no attack and under each.
func gridRow(panel string, s train.Spec, names []string) []Cell {
	rule := s.Params.Rule.Name
	cells := []Cell{{Panel: panel, Series: cross(rule, clean), Learn: &s}}
	for _, name := range names {
		under := s
		under.Byzantine, under.Attack = params.MaxByzantine(gridNodes), "aware+"+name
		cells = append(cells, Cell{
			Panel: panel, Series: cross(rule, name), Learn: &under,
			Rerun: s.Params.Privacy.NoiseFloor && rule == "nnm+trimmed-mean" && name == "optimised-ipm",
		})
	}
	return cells
}

// cross joins the two names of a cell of the grid, and cut splits them again.
func cross(rule, attack string) string { return rule + ", " + attack }

func cut(series string) (rule, attack string) {
	rule, attack, _ = strings.Cut(series, ", ")
	return rule, attack
}

// grid returns the map of a panel, and its lines of the table. An attack's cell shows
// the worst of its seeds; refused is how many gradients of a run the chain did not
// admit, over all attacks.
func (r Results) grid(panel string) (figure.Map, [][]string) {
	var m figure.Map
	here := r.inPanel(panel)
	for _, series := range here.series() {
		rule, attack := cut(series)
		if !slices.Contains(m.Rows, rule) {
			m.Rows = append(m.Rows, rule)
		}
		if !slices.Contains(m.Columns, attack) {
			m.Columns = append(m.Columns, attack)
		}
	}
	var table [][]string
	for _, rule := range m.Rows {
		line := make([]float64, 0, len(m.Columns)+1)
		var hurt []int // columns
		var refused float64
		for i, attack := range m.Columns {
			cell := here.of(panel, cross(rule, attack))
			if attack == clean {
				line = append(line, cell.final("test_error"))
				continue
			}
			line, hurt = append(line, cell.worst()), append(hurt, i)
			refused += cell.final("refused")
		}
		slices.SortStableFunc(hurt, func(a, b int) int { return cmp.Compare(line[b], line[a]) })
		show := []string{panel, rule, number(1 - line[0]), "-", "-", "-", fmt.Sprintf("%.0f", refused), outside(rule)}
		worst := math.NaN()
		if len(hurt) > 0 {
			worst = line[hurt[0]]
			show[3], show[4] = number(1-worst), m.Columns[hurt[0]]
		}
		if len(hurt) > 1 {
			show[5] = fmt.Sprintf("%s, %s", number(1-line[hurt[1]]), m.Columns[hurt[1]])
		}
		m.Values, table = append(m.Values, append(line, worst)), append(table, show)
	}
	m.Columns = append(m.Columns, "WORST")
	return m, table
}

const gridNodes = 20

// everything stands for all rules or all attacks.
var everything = []string{"all"}

// worst returns the largest test error of any seed after the last round.
func (r Results) worst() float64 {
	out := math.NaN()
	for _, x := range r {
		if e := x.last("test_error"); math.IsNaN(out) || e > out {
			out = e
		}
	}
	return out
}

// outside marks a rule whose theorem does not cover the grid's N and f.
func outside(rule string) string {
	found, err := rules.Lookup(rule)
	if err != nil {
		return ""
	}
	if err := found.Condition(gridNodes, params.MaxByzantine(gridNodes)); err != nil {
		return strings.TrimPrefix(err.Error(), "rules: ")
	}
	return ""
}

// gridRules are the rules of a full run: those that can aggregate 14 of 20, and
// some behind nearest-neighbour mixing.
var gridRules = []string{
	"mean", "krum", "multi-krum", "median", "trimmed-mean", "mean-around-median", "geometric-median", "centered-clipping", "cge", "mda",
	"nnm+trimmed-mean", "nnm+krum", "nnm+median", "nnm+geometric-median",
}

// rulesFor and attacksFor are the grid's axes: in a quick run those that differ
// most.
func rulesFor(o Options) []string {
	switch {
	case slices.Equal(o.Rules, everything):
		return rules.Names()
	case o.Rules != nil:
		return o.Rules
	case o.Quick:
		return []string{"mean", "krum", "nnm+trimmed-mean"}
	}
	return gridRules
}

func attacksFor(o Options) []string {
	switch {
	case slices.Equal(o.Attacks, everything):
		return attack.Names()
	case o.Attacks != nil:
		return o.Attacks
	case o.Quick:
		return []string{"sign-flip", "alie", "optimised-ipm"}
	}
	return attack.Names()
}
