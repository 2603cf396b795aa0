package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// dirichlet is the error against the heterogeneity of the data.
var dirichlet = Experiment{
	Name: "dirichlet",
	Title: "Heterogeneous data: Dirichlet alpha, N=20, the paper's preset; clean, under sign flips of 6, and under " +
		"mimicry of 6",
	X:    "log10 alpha",
	axis: alphas,
	cells: func(o Options) ([]Cell, error) {
		var l list
		swept, over := []float64{0.1, 0.5, 1, 10}, []string{"mean", "krum", "multi-krum", "trimmed-mean", "nnm+trimmed-mean"}
		if o.Quick {
			swept, over = []float64{0.1, 10}, []string{"mean", "krum", "nnm+trimmed-mean"}
		}
		for _, name := range []string{clean, "sign-flip", "mimic"} {
			for _, rule := range over {
				for _, alpha := range swept {
					s, err := o.paper(train.DP, gridNodes)
					s.Params.Rule.Name, s.Alpha, s.Every = rule, alpha, 0
					panel := "no attack"
					if name != clean {
						panel = "30 % " + name
						s.Byzantine, s.Attack = params.MaxByzantine(gridNodes), name
					}
					l.add(Cell{Panel: panel, Series: rule, X: math.Log10(alpha), Learn: &s, Rerun: name == "mimic" &&
						rule == "nnm+trimmed-mean" && alpha == 1}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) { return r.sweep(alphas) },
}

var alphas = axis{"alpha", func(x float64) string { return fmt.Sprintf("%g", math.Round(1000*math.Pow(10, x))/1000) }}
