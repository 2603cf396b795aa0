package experiment

import (
	"math"
	"strings"

	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// attacks is every rule under every attack: on the default preset's chain, with
// its noise and its noise floor, which the attackers know.
var attacks = Experiment{
	Name:  "attacks",
	Title: "Test error in % of every rule under every attack: N=20, f=6, epsilon 4, noise floor on, attackers aware of it",
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, name := range attacksFor(o) {
			if _, err := attack.Lookup(name); err != nil {
				return nil, err
			}
		}
		for _, rule := range rulesFor(o) {
			if _, err := rules.Lookup(rule); err != nil {
				return nil, err
			}
			s, err := o.private(rule, gridNodes, 4)
			if err != nil {
				return nil, err
			}
			s.Every = 0
			if _, err := s.Params.Validate(gridNodes); err != nil {
				continue // it cannot aggregate N-f of so few
			}
			cells = append(cells, Cell{Panel: rule, Series: "none", Learn: &s})
			for _, name := range attacksFor(o) {
				under := s
				under.Byzantine, under.Attack = byzantineOf(gridNodes), "aware+"+name
				cells = append(cells, Cell{Panel: rule, Series: name, Learn: &under})
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		m := figure.Map{Rows: r.panels(), Columns: append(r.series(), "WORST")}
		t := Table{Head: []string{"rule", "clean accuracy", "worst accuracy", "worst attack", "outside its theorem"}}
		for _, rule := range m.Rows {
			line := make([]float64, 0, len(m.Columns))
			worst, by := math.Inf(-1), ""
			for _, series := range r.series() {
				e := r.of(rule, series).worst()
				line = append(line, e)
				if series != "none" && e > worst {
					worst, by = e, series
				}
			}
			m.Values = append(m.Values, append(line, worst))
			t.Rows = append(t.Rows, []string{rule, number(1 - line[0]), number(1 - worst), by, outside(rule)})
		}
		return figure.Figure{Title: "Attacks and rules", Panels: []figure.Panel{{Title: "test error in %", Map: &m}}}, t
	},
}

const gridNodes = 20

// worst is the largest test error of any seed after the last round.
func (r Results) worst() float64 {
	out := math.NaN()
	for _, x := range r {
		if e := x.last("test_error"); math.IsNaN(out) || e > out {
			out = e
		}
	}
	return out
}

// outside says that a rule's theorem does not cover the grid's N and f.
func outside(rule string) string {
	found, err := rules.Lookup(rule)
	if err != nil {
		return ""
	}
	if err := found.Condition(gridNodes, byzantineOf(gridNodes)); err != nil {
		_, want, _ := strings.Cut(err.Error(), "want ")
		return "wants " + want
	}
	return ""
}

// rulesFor and attacksFor are the grid's axes: in a quick run those that differ
// most.
func rulesFor(o Options) []string {
	switch {
	case o.Rules != nil:
		return o.Rules
	case o.Quick:
		return []string{"mean", "krum", "multi-krum", "trimmed-mean", "nnm+trimmed-mean"}
	}
	return rules.Names()
}

func attacksFor(o Options) []string {
	switch {
	case o.Attacks != nil:
		return o.Attacks
	case o.Quick:
		return []string{"constant", "sign-flip", "minus-mean+noise", "alie", "optimised-ipm"}
	}
	return attack.Names()
}
