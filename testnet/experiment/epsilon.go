package experiment

import (
	"fmt"

	"github.com/spdl/spdl/testnet/experiment/train"
)

// epsilon is the paper's figure of the privacy budget. It compares the noise of the paper's
// program, which gives no privacy, with the noise that epsilon requires.
var epsilon = Experiment{
	Name: "epsilon",
	Title: "Privacy budget 0.4 and 0.04: the prototype's noise on the paper's preset; honest noise (delta 1e-6, RDP, " +
		"of 100 rounds) and none on the default preset",
	Paper: "When N=10, epsilon=0.4 and epsilon=0.04 have similar convergence. When N=20, smaller epsilon can cause " +
		"larger test error.",
	cells: func(o Options) ([]Cell, error) {
		var l list
		nodes := []int{10, 20}
		if o.Quick {
			nodes = nodes[:1]
		}
		for _, n := range nodes {
			panel := fmt.Sprintf("N=%d", n)
			for _, e := range []float64{0.4, 0.04} {
				s, err := o.paper(train.SPDL, n)
				s.Params.Privacy.PrototypeEpsilon = e
				l.add(Cell{Panel: panel, Series: fmt.Sprintf("prototype's noise, \"%g\"", e), Learn: &s}, err)
			}
			for _, rule := range []string{"krum", "nnm+trimmed-mean"} {
				s, err := o.private(rule, n, 1)
				if err == nil {
					s, err = train.Noiseless(s)
				}
				s.Every = o.stride()
				l.add(Cell{Panel: panel, Series: "no noise, " + rule, Learn: &s}, err)
			}
			for _, e := range []float64{0.4, 0.04} {
				for _, rule := range []string{"krum", "nnm+trimmed-mean"} {
					s, err := o.private(rule, n, e)
					s.Every = o.stride()
					l.add(Cell{Panel: panel, Series: fmt.Sprintf("honest %g, %s", e, rule), Learn: &s,
						Rerun: n == 10 && e == 0.4 && rule == "krum"}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: errorCurves("Privacy budget", 1),
}

// stride returns the number of rounds between two points of a curve.
func (o Options) stride() uint64 {
	if o.Quick {
		return 5
	}
	return 2
}
