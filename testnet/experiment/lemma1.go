package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// lemma1 is the paper's training with the noise that its own Lemma 1 requires, compared with the
// noise of its prototype and the noise that makes epsilon true.
var lemma1 = Experiment{
	Name: "lemma1",
	Title: "Lemma 1's own noise: N=10, the paper's training under noise that its prototype, its lemma and this " +
		"project's accountant call epsilon, delta 1e-6",
	Paper: "Gradient exchanges within T rounds preserve (epsilon, delta)-differential privacy as long as " +
		"sigma >= C T gamma sqrt(2 ln(1.25/delta))/epsilon. (Its figures have epsilon 0.02, 0.04 and 0.4.)",
	X:    "log2 epsilon",
	axis: epsilons,
	cells: func(o Options) ([]Cell, error) {
		const n = 10
		var l list
		for _, rule := range []string{train.SPDL, train.DP} {
			for _, e := range []float64{0.02, 0.04, 0.4} {
				for _, noise := range noises {
					s, err := o.paper(rule, n)
					if err == nil {
						s, err = noise.of(s, e)
					}
					s.Every = 0
					l.add(Cell{
						Panel: fmt.Sprintf("%s, rule %s", rule, s.Params.Rule.Name), Series: noise.name, X: math.Log2(e), Learn: &s,
						Rerun: rule == train.SPDL && e == 0.4 && noise.name == lemma1Noise,
					}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) { return r.sweep(epsilons) },
}

const lemma1Noise = "Lemma 1's noise"

// noises lists the kinds of noise that are claimed to give epsilon.
var noises = []struct {
	name string
	of   func(s train.Spec, epsilon float64) (train.Spec, error)
}{
	{"prototype's noise", func(s train.Spec, epsilon float64) (train.Spec, error) {
		s.Params.Privacy.PrototypeEpsilon = epsilon
		return s, nil
	}},
	{lemma1Noise, train.Lemma1},
	{"honest, batches of fixed size", func(s train.Spec, epsilon float64) (train.Spec,
		error) {
		return train.Honest(s, epsilon, false)
	}},
	{"honest, secret batches", func(s train.Spec, epsilon float64) (train.Spec, error) {
		return train.Honest(s, epsilon,
			true)
	}},
}
