package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// tradeoff is accuracy against epsilon.
var tradeoff = Experiment{
	Name:  "tradeoff",
	Title: "Accuracy against epsilon per rule: N=20, delta 1e-6, noise of 100 rounds; clean, and under sign flips of 6",
	X:     "log2 epsilon",
	axis:  epsilons,
	cells: func(o Options) ([]Cell, error) {
		budgets := []float64{0.25, 0.5, 1, 2, 4, 8}
		if o.Quick {
			budgets = []float64{0.5, 4}
		}
		var l list
		for _, flipped := range []bool{false, true} {
			for _, rule := range []string{"mean", "krum", "multi-krum", "trimmed-mean", "nnm+trimmed-mean"} {
				for _, e := range budgets {
					s, err := o.private(rule, gridNodes, e)
					s.Every = 0
					panel := "no attack"
					if flipped {
						panel = "30 % flip signs"
						s.Byzantine, s.Attack = params.MaxByzantine(gridNodes), "aware+sign-flip"
					}
					l.add(Cell{Panel: panel, Series: rule, X: math.Log2(e), Learn: &s, Rerun: flipped &&
						rule == "trimmed-mean" && e == 4}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) { return r.sweep(epsilons) },
}

var epsilons = axis{"epsilon", func(x float64) string { return fmt.Sprintf("%.6g", math.Exp2(x)) }}
