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
// If the gradients are sums, the velocity is the model with which the epoch began, and x' is that model minus
// learning_rate*g. An earlier Delta is then forgotten, because each Delta is that of all rounds so far.
//
// The computation is elementwise. Every product is converted to float64: the conversion forbids the
// compiler to fuse product and sum, so that all CPUs round alike. If momentum is 0, and the gradients are
// not sums, v and v1 are nil, and g takes the place of v'.
func update(p params.Params, x, v []float64, delta gradients.Fraction) (x1, v1 []float64) {
	t, step := p.Training, p.Grid.Step
	if p.Privacy.Sums() {
		x, v1 = v, v
	}
	x1 = make([]float64, len(x))
	if t.Momentum != 0 {
		v1 = make([]float64, len(x))
	}
	den := float64(delta.Den)
	for j := range x {
		g := float64(float64(delta.Num[j])/den*step) + float64(t.WeightDecay*x[j])
		if t.Momentum != 0 {
			g = float64(t.Momentum*v[j]) + g
			v1[j] = canonicalNaN(g)
		}
		x1[j] = canonicalNaN(x[j] - float64(t.LearningRate*g))
	}
	return x1, v1
}

// firstVelocity returns the velocity with which an epoch begins.
func firstVelocity(p params.Params, model []float64) []float64 {
	switch {
	case p.Privacy.Sums():
		return model
	case p.Training.Momentum != 0:
		return make([]float64, len(model))
	}
	return nil
}

// canonicalNaN returns x, or one fixed NaN if x is any NaN. CPUs differ in the bits of a NaN, and
// all nodes must agree even on a model that has overflowed.
func canonicalNaN(x float64) float64 {
	if math.IsNaN(x) {
		return math.NaN()
	}
	return x
}
