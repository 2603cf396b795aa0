package experiment

import (
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// reputation shows the reputations over the rounds while some participants attack.
var reputation = Experiment{
	Name:  "reputation",
	Title: "Reputation over time: N=10, 3 attack; the least of the honest and the greatest of the attackers",
	cells: func(o Options) ([]Cell, error) {
		var l list
		for _, name := range []string{"sign-flip", "minus-mean+noise", "alie", "constant"} {
			s, err := o.private("nnm+trimmed-mean", 10, 4)
			s.Byzantine, s.Attack, s.Every = params.MaxByzantine(s.Nodes), "aware+"+name, 1
			l.add(Cell{Panel: "nnm+trimmed-mean, epsilon 4", Series: name, Learn: &s, Rerun: name == "alie"}, err)
			p, err := o.paper(train.SPDL, 10)
			p.Params.Reputation = params.Reputation{Initial: params.One, Penalty: 100_000} // without a margin
			p.Byzantine, p.Attack, p.Every = params.MaxByzantine(p.Nodes), name, 1
			l.add(Cell{Panel: "the paper: Krum, p=0.1, nothing earned back", Series: name, Learn: &p}, err)
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) {
		f := figure.Figure{Title: "Reputation"}
		t := Table{Head: []string{"chain", attackersColumn, "attack", "least honest", "greatest attacker", "test error"}}
		for _, panel := range r.panels() {
			p := figure.Panel{Title: panel, X: "round", Y: "reputation", Top: 1.1}
			for _, series := range r.series() {
				some := r.of(panel, series)
				honest := some.curve(series+", honest", "honest_reputation")
				attackers := some.curve(series+", attackers", "byzantine_reputation")
				honest.Colour, attackers.Colour, attackers.Dashed = series, series, true
				p.Lines = append(p.Lines, honest, attackers)
				t.Rows = append(t.Rows, []string{panel, some.attackers(), series,
					some.cell("honest_reputation"), some.cell("byzantine_reputation"), some.cell("test_error")})
			}
			f.Panels = append(f.Panels, p)
		}
		return f, t
	},
}
