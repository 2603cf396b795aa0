package privacy

import (
	"fmt"
	"math"
)

const (
	// MaxRows is the max number of gradients in a sum for which clipMargin is enough.
	MaxRows = 1 << 20
	// clipMargin keeps the influence of a row on a sum within the clip norm C in spite of every float64 rounding. Let u be
	// 2^-53. A partial sum of k rows has a norm of at most kC, and one more addition is off by at most u of that, so a sum
	// of n rows is off by u n^2/2 C at most. Two sums, with and without a row, are off by 2^-13 C together at MaxRows. The
	// roundings within a row, among them its norm of up to 2^21 squares, are below 2^-22 C. The next power of two is the
	// margin.
	clipMargin = 1.0 / (1 << 12)
)

// ClipScale returns the factor min(1, (1-2^-12) clip/norm), which brings a gradient of the given Euclidean norm so far
// inside the ball of radius clip that a float64 sum of at most MaxRows such gradients moves by at most clip with one of
// them. A clip of 0 or less does not clip. A norm that is not finite gives 0: the caller must then leave the gradient
// out rather than multiply, as 0 times infinity is not 0.
func ClipScale(norm, clip float64) float64 {
	clip *= 1 - clipMargin
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
	factor := ClipScale(math.Sqrt(square), clip)
	if factor == 0 { // 0 times infinity is not 0
		return
	}
	for j, x := range v {
		sum[j] += x * factor
	}
}
