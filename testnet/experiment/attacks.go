package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// attacks is the grid of all rules under all attacks, on the default preset's chain: with its noise
// and its noise floor, which the attackers know, and without both.
var attacks = Experiment{
	Name:  "attacks",
	Title: "Rules under attack, accuracy, with and without noise and the noise floor, which attackers know",
	Reads: "each cell is the worst of the seeds, an attack's accuracy with their mean and best beside it; clean " +
		"accuracy is their mean, with the least and the greatest",
	wide: true,
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, rule := range rulesFor(o) {
			some, err := o.gridRows(rule)
			if err != nil {
				return nil, err
			}
			cells = append(cells, some...)
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		f := figure.Figure{Title: "Attacks and rules"}
		t := Table{Head: []string{
			"setting", attackersColumn, "rule", "clean accuracy", "worst accuracy", "worst attack", "second worst",
			"worst class", "backdoor", "greatest reputation of attackers", "least of honest", "refused", "outside its theorem",
		}}
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

// gridRows returns the grid's rows of a rule. It returns none if the grid has all rules and this
// rule cannot aggregate N-f gradients.
func (o Options) gridRows(rule string) (cells []Cell, err error) {
	for _, n := range or(o.Nodes, gridNodes) {
		switch b, f := o.Byzantine, params.MaxByzantine(n); {
		case b != nil && (*b < 1 || *b >= n):
			return nil, fmt.Errorf("%d attackers of %d, want at least 1 and one honest participant", *b, n)
		case b == nil && f == 0:
			return nil, fmt.Errorf("with N = %d the chain tolerates f = 0 attackers, so nobody would attack: want N >= 4 "+
				"(N >= 3f+1), or a number of attackers beyond f (--byzantine 1)", n)
		}
		for _, epsilon := range or(o.Epsilons, 4, 0) {
			s, err := o.gridSpec(rule, n, epsilon)
			if err != nil {
				return nil, err
			}
			if _, err := s.Params.Validate(n); err != nil {
				if slices.Equal(o.Rules, everything) {
					return nil, nil
				}
				return nil, err
			}
			for _, alpha := range or(o.Alphas, 0) {
				if !(alpha >= 0) {
					return nil, fmt.Errorf("parameter of a Dirichlet partition %g, want above 0, or 0 for an even partition", alpha)
				}
				s.Alpha = alpha
				cells = append(cells, o.gridRow(panelOf(o, s), s)...)
			}
		}
	}
	return cells, nil
}

// or returns given, or the values if given is nil.
func or[T any](given []T, values ...T) []T {
	if given != nil {
		return given
	}
	return values
}

// presets is the name that stands for the preset's own rule.
const presets = "preset"

// gridSpec returns the training of a rule without attackers. Epsilon 0 stands for no noise.
func (o Options) gridSpec(rule string, n int, epsilon float64) (train.Spec, error) {
	if rule == presets {
		p, err := train.Preset("default", n)
		if err != nil {
			return p, err
		}
		rule = p.Params.Rule.Name
	}
	if _, err := rules.Lookup(rule); err != nil {
		return train.Spec{}, err
	}
	s, err := o.private(rule, n, cmp.Or(epsilon, 4))
	if err != nil {
		return s, err
	}
	s.Every = 0
	s.Params.Election.CommitReveal = s.Params.Election.CommitReveal && !o.Rushing
	if o.Momentum != nil {
		if s.Params.Privacy.WorkerMomentum = *o.Momentum; s.Params.Privacy.Sums() {
			s.Params.Grid.Width = uint32(gradients.Int16)
		}
		train.Regrid(&s.Params)
	}
	if epsilon == 0 {
		return train.Noiseless(s)
	}
	return s, nil
}

// panelOf returns the name of a setting, made of the options that the user set.
func panelOf(o Options, s train.Spec) string {
	name := "no noise"
	if p := s.Params.Privacy; p.NoiseFloor {
		name = fmt.Sprintf("epsilon %g", p.Epsilon)
	}
	if o.Nodes != nil {
		name = fmt.Sprintf("N=%d, %s", s.Nodes, name)
	}
	if s.Alpha > 0 {
		name += fmt.Sprintf(", Dirichlet %g", s.Alpha)
	}
	if o.Momentum != nil {
		name += fmt.Sprintf(", worker momentum %g", *o.Momentum)
	}
	if o.Rushing {
		name += ", rushing"
	}
	return name
}

// gridRow returns the cells of a rule without an attack and under each attack.
func (o Options) gridRow(panel string, s train.Spec) []Cell {
	rule := s.Params.Rule.Name
	cells := []Cell{{Panel: panel, Series: cross(rule, clean), Learn: &s}}
	for _, name := range attacksFor(o) {
		under := s
		under.Byzantine, under.Attack = params.MaxByzantine(s.Nodes), "aware+"+name
		if o.Byzantine != nil {
			under.Byzantine = *o.Byzantine
		}
		cells = append(cells, Cell{
			Panel: panel, Series: cross(rule, name), Learn: &under,
			Rerun: s.Params.Privacy.NoiseFloor && (rule == "nnm+trimmed-mean" && name == "optimised-ipm" ||
				slices.Equal(o.Rules, []string{presets}) && slices.Contains(o.Attacks, name)), // few, and named
		})
	}
	return cells
}

// cross joins the rule and the attack into the name of a cell of the grid, and cut splits them again.
func cross(rule, attack string) string { return rule + ", " + attack }

func cut(series string) (rule, attack string) {
	rule, attack, _ = strings.Cut(series, ", ")
	return rule, attack
}

// grid returns the map of a panel and the panel's lines of the table. An attack's cell shows the
// worst value over the seeds. After the accuracies, a line shows the worst value over all attacks
// and seeds, or the sum for rejected gradients.
func (r Results) grid(panel string) (figure.Map, [][]string) {
	here := r.inPanel(panel)
	m := here.frame()
	var table [][]string
	for _, rule := range m.Rows {
		line := make([]float64, 0, len(m.Columns)+1)
		var under Results // attack
		var hurt []int    // columns
		var accuracy []figure.Line
		for i, attack := range m.Columns {
			cell := here.of(panel, cross(rule, attack))
			accuracy = append(accuracy, mapped(cell.finals("", "test_error"), func(_, y float64) float64 { return 1 - y }))
			if attack == clean {
				line = append(line, cell.final("test_error"))
				continue
			}
			line, hurt, under = append(line, cell.worst("test_error")), append(hurt, i), append(under, cell...)
		}
		slices.SortStableFunc(hurt, func(a, b int) int { return cmp.Compare(line[b], line[a]) })
		show := []string{panel, here.attackers(), rule, ranged(accuracy[0], 0, 4), "-", "-", "-"}
		worst := math.NaN()
		if len(hurt) > 0 {
			worst = line[hurt[0]]
			show[4], show[5] = worstOf(accuracy[hurt[0]]), m.Columns[hurt[0]]
		}
		if len(hurt) > 1 {
			show[6] = fmt.Sprintf("%s, %s", worstOf(accuracy[hurt[1]]), m.Columns[hurt[1]])
		}
		var refused float64
		for _, x := range under {
			refused += x.last("refused")
		}
		show = append(show, number(under.worst("worst_class")), number(under.worst("backdoor")),
			number(under.worst("byzantine_reputation")), number(under.least("honest_reputation")),
			fmt.Sprintf("%.0f", refused), under.outside(rule))
		m.Values, table = append(m.Values, append(line, worst)), append(table, show)
	}
	m.Columns = append(m.Columns, "WORST")
	return m, table
}

// worstOf formats a line of one accuracy: the worst seed's and, of several seeds, the mean and the best.
func worstOf(l figure.Line) string {
	if l.Low == nil {
		return ranged(l, 0, 4)
	}
	return fmt.Sprintf("%s (mean %s, best %s)", number4(l.Low[0]), number4(l.Y[0]), number4(l.High[0]))
}

// frame returns a map without values: its rows are the rules or presets of the results, and its
// columns are the attacks.
func (r Results) frame() figure.Map {
	return figure.Map{
		Rows:    names(r, func(c Cell) string { row, _ := cut(c.Series); return row }),
		Columns: names(r, func(c Cell) string { _, attack := cut(c.Series); return attack }),
	}
}

const gridNodes = 20

// everything is the option that stands for all rules or all attacks.
var everything = []string{"all"}

// outside marks a rule whose theorem does not cover the trainings' N and the f that the chain tolerates, or
// their attackers, if these are more than f.
func (r Results) outside(rule string) string {
	found, err := rules.Lookup(rule)
	if err != nil || len(r) == 0 {
		return ""
	}
	s := r[0].Cell.Learn
	f := params.MaxByzantine(s.Nodes)
	if s.Byzantine > f {
		return fmt.Sprintf("%d attackers, more than f = %d", s.Byzantine, f)
	}
	if err := found.Condition(s.Nodes, f); err != nil {
		return strings.TrimPrefix(err.Error(), "rules: ")
	}
	return ""
}

// gridRules are the rules of a full run: those that can aggregate 14 of 20 gradients, and some of
// these after nearest-neighbour mixing.
var gridRules = []string{
	"agnostic-mean", "mean", "krum", "multi-krum", "median", "trimmed-mean", "mean-around-median", "geometric-median",
	"centered-clipping", "cge", "mda",
	"nnm+trimmed-mean", "nnm+krum", "nnm+median", "nnm+geometric-median",
}

// rulesFor and attacksFor return the grid's axes. A quick run has only the rules and attacks that differ most.
func rulesFor(o Options) []string {
	return o.some(o.Rules, rules.Names(), gridRules, []string{"mean", "krum", "nnm+trimmed-mean", "agnostic-mean"})
}

func attacksFor(o Options) []string {
	quick := []string{"sign-flip", "alie", "optimised-ipm", "hidden-margin"}
	return o.some(o.Attacks, attack.Names(), attack.Names(), quick)
}

// some returns the names that are asked for, and without that those of a full or a quick run.
func (o Options) some(asked, all, full, quick []string) []string {
	switch {
	case slices.Equal(asked, everything):
		return all
	case asked != nil:
		return asked
	case o.Quick:
		return quick
	}
	return full
}
