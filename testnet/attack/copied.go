package attack

import "github.com/spdl/spdl/gradients"

// lazy does not train. It sends the gradient of an honest participant as its own, each round that
// of another participant.
func lazy(v View) []gradients.Vector {
	return v.each(func(i int) gradients.Vector { return v.Honest[(i+int(v.Round))%len(v.Honest)] })
}

// labelFlip trains on wrong labels and sends the resulting gradient.
type labelFlip struct{}

func (labelFlip) Name() string { return "label-flip" }
func (labelFlip) Source() string {
	return "Biggio et al., ICML 2012; label l becomes classes-1-l, as in Allouah et al., AISTATS 2023"
}

// Poison reverses the labels.
func (labelFlip) Poison(label uint8, classes int) uint8 { return uint8(classes-1) - label }

func (labelFlip) Craft(v View) []gradients.Vector { return v.Own() }

// equivocation signs two gradients, its own and its negative. The leader gets one of them at
// random. sim.Faults.TwoGradients tests the evidence and the penalty of two gradients.
func equivocation(v View) []gradients.Vector {
	own := v.Own()
	return v.each(func(i int) gradients.Vector {
		if v.Rand.IntN(2) == 0 {
			return own[i]
		}
		return negated(own[i])
	})
}
