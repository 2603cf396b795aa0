package app

import (
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// update returns the model's parameters x1 and velocity v1 after a step by Delta:
//
//	g = step*Delta + weight_decay*x;  v' = momentum*v + g;  x' = x - learning_rate*v'
//
// The computation is elementwise. Every product is converted to float64: the conversion forbids the
// compiler to fuse product and sum, so that all CPUs round alike. If momentum is 0, v and v1 are
// nil, and g takes the place of v'.
func update(t params.Training, x, v []float64, delta gradients.Fraction, step float64) (x1, v1 []float64) {
	x1 = make([]float64, len(x))
	if t.Momentum != 0 {
		v1 = make([]float64, len(x))
	}
	den := float64(delta.Den)
	for j := range x {
		g := float64(float64(delta.Num[j])/den*step) + float64(t.WeightDecay*x[j])
		if v1 != nil {
			g = float64(t.Momentum*v[j]) + g
			v1[j] = canonicalNaN(g)
		}
		x1[j] = canonicalNaN(x[j] - float64(t.LearningRate*g))
	}
	return x1, v1
}

// canonicalNaN returns x, or one fixed NaN if x is any NaN. CPUs differ in the bits of a NaN, and
// all nodes must agree even on a model that has overflowed.
func canonicalNaN(x float64) float64 {
	if math.IsNaN(x) {
		return math.NaN()
	}
	return x
}
