package rules

import "github.com/spdl/spdl/gradients"

// Parameters of geometricMedianRule.
const (
	medianSteps = 32 // steps of Weiszfeld's algorithm
	medianBits  = 30 // fractional bits of a step's weights, the largest of which is 1
)

// geometricMedianRule approximates the point whose distances to the gradients have the least sum, by 32 steps of the
// smoothed Weiszfeld algorithm from their mean. A step from v replaces it by the mean of the points y_i with weights
//
//	w_i = min over j of r_j / r_i,    r_i = max(1, |v - y_i|)    (nu = 1 grid step)
//
// and the last v is Delta. No v before is ever computed: it is kept as weights, from which r_i^2
// follows exactly (see hull).
//
// What is rounded, and how: w_i down to a multiple of 2^-30, by an integer root; and at the end the
// weights, brought to sum 1, to multiples of 2^-20, see shareAll. So Delta has denominator 2^20,
// and everything else is exact. Let k be the number of points and D their diameter.
//
//   - A step ends within k 2^-30 D of the step without rounding: z' - z = -1/W sum of e_i (y_i -
//     z), where 0 <= e_i < 2^-30 are the errors, W >= 1 is the sum of the rounded weights, and z is
//     in the hull.
//   - Delta is within k 2^-20 D of the last step: at int8, n = 30 and the largest D possible that
//     is less than 0.01 grid steps times sqrt(d); between gradients that are mostly noise of 8
//     steps it is twenty times less.
//   - Errors do not build up. Let F(v) be the sum of h(|v - y_i|) with h(r) = r from 1 grid step on
//     and (r^2+1)/2 below, which exceeds the sum of distances by at most k/2. A step without
//     rounding minimises the sum of (|v - y_i|^2/r_i + r_i)/2, which is nowhere below F and equal
//     to it at the start, so it never raises F; h has slope at most 1. Hence a step raises F by at
//     most k^2 2^-30 D, and F(Delta) <= F(mean) + 32 k^2 2^-30 D + k^2 2^-20 D.
//
// How far from the true median 32 steps end is not bounded that way: it depends on the data. With f gradients far away,
// each step divides their pull by about (k-f)/f: 32 steps take 2^-32 at f = N/3 and 0.0016 at f = 0.45 N.
//
// Resilience: N >= 2f+1, the breakdown point of the geometric median. A silent participant is at
// infinite distance, so its weight is 0. It needs one gradient, as median does.
//
// Score: the distance from the end of the last step, in grid steps, rounded down.
//
// Cost: O(n^2 d) for the distances and O(n^2) a step.
//
// Source: Pillutla, Kakade, Harchaoui, "Robust Aggregation for Federated Learning", 2019
// (arXiv:1912.13445), algorithm 2.
type geometricMedianRule struct{}

func (geometricMedianRule) Name() string { return "geometric-median" }

func (geometricMedianRule) Condition(n, f int) error { return majority("geometric-median", n, f) }

// Denominator returns the sum of the weights.
func (geometricMedianRule) Denominator(_, _, _ int) int64 { return 1 << weightBits }

func (geometricMedianRule) Cost() string { return "O(n^2 d)" }

func (geometricMedianRule) Source() string {
	return "Pillutla et al., 2019, arXiv:1912.13445, algorithm 2"
}

func (geometricMedianRule) feasible(_, _, _ int) error { return nil }

func (geometricMedianRule) aggregate(_ Input, p points) (Output, error) {
	h := p.newHull()
	weights := make([]uint64, p.len())
	for i := range weights {
		weights[i] = 1 << medianBits
	}
	for range medianSteps {
		h.step(weights)
	}
	h.measure(0, weights)
	return Output{
		Delta:    gradients.WeightedMean(p.vectors, p.weigh(shareAll(weights))),
		Selected: p.everybody(),
		Score:    h.lengths(),
		Margin:   -1,
	}, nil
}

// step replaces the weights by those of the next step, times 2^medianBits.
func (h *hull) step(weights []uint64) {
	h.measure(0, weights)
	least := h.squares[0]
	for _, square := range h.squares {
		if square.Cmp(&h.unit) < 0 {
			square.Set(&h.unit)
		}
		if square.Cmp(least) < 0 {
			least = square
		}
	}
	for i, square := range h.squares {
		weights[i] = h.ratioRoot(least, square, medianBits)
	}
}
