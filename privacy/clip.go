package privacy

import (
	"fmt"
	"math"
)

// ClipScale returns the factor min(1, clip/norm) that brings a gradient of the given Euclidean norm
// inside the ball of radius clip. A clip of 0 or less does not clip. A norm that is not finite
// gives 0: the caller must then leave the gradient out rather than multiply, as 0 times infinity is
// not 0.
func ClipScale(norm, clip float64) float64 {
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return 0
	case clip <= 0 || norm <= clip:
		return 1
	}
	return clip / norm
}

// Project moves a sum of clipped gradients to the nearest point of the ball of a radius about 0, in
// place: it multiplies the sum by min(1, radius/norm). An infinite radius leaves it alone, and so
// does a norm that is not finite, which Release rejects.
//
// It costs no privacy. The projection onto a convex set brings no two points farther apart
// (Bauschke and Combettes, Convex Analysis and Monotone Operator Theory, proposition 4.16), so sums
// that one example moves by at most the clip norm stay as near after it, whatever the number of
// examples. Rounding adds at most (d+3) 2^-53 times the radius: the norm is a sum of d squares.
func Project(sum []float64, radius float64) {
	square := 0.0
	for _, x := range sum {
		square += x * x
	}
	norm := math.Sqrt(square)
	if norm <= radius || math.IsInf(norm, 0) || math.IsNaN(norm) {
		return
	}
	for j := range sum {
		sum[j] *= radius / norm
	}
}

// groupMargin keeps a clipped sum within the clip norm after the float64 roundings of at most 2^21
// squares and coordinates.
const groupMargin = 1.0 / (1 << 30)

// AddClipped adds v, scaled to a Euclidean norm of at most clip, to sum. A v that is not finite adds
// nothing. It panics if the lengths differ.
func AddClipped(sum, v []float64, clip float64) {
	if len(sum) != len(v) {
		panic(fmt.Sprintf("privacy: a vector of %d, want %d", len(v), len(sum)))
	}
	square := 0.0
	for _, x := range v {
		square += x * x
	}
	factor := ClipScale(math.Sqrt(square), clip*(1-groupMargin))
	if factor == 0 { // 0 times infinity is not 0
		return
	}
	for j, x := range v {
		sum[j] += x * factor
	}
}
