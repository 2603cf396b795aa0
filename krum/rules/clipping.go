package rules

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// Parameters of centeredClippingRule.
const (
	clippingSteps = 10 // iterations
	clippingBits  = 30 // fractional bits of the factor that a difference is shortened by
	placeBits     = 40 // fractional bits of the weights that say where v is
)

// centeredClippingRule takes ten steps from the coordinate-wise median towards the gradients, each
// a mean of differences that are clipped: with k points y_i,
//
//	v <- v + 1/k sum of (y_i - v) min(1, tau/|y_i - v|)
//
// The paper starts at the last round's aggregate, and lets a radius tau be tuned. Rules have no state and no tuning
// here: v starts at the coordinate-wise median of the round (medianRule), and tau is the lower median of the points'
// distances from there, so that at least half of them are not clipped in the first step. If fewer than half of the
// points are Byzantine, some honest one is as far away as tau at least, and some at most. Ten steps from there come
// close to Huber's estimate of location with that tau. What the paper gains by learning from history is lost.
//
// What is rounded, and how: v is kept as weights of the median and of the points, with 40 fractional bits, from which
// distances follow exactly (see hull). The factor min(1, ...) is rounded down to a multiple of 2^-30 by an integer
// root, and new weights to multiples of 2^-40. The weights of the last step, scaled to sum 1, are rounded down to
// multiples of 2^-20; the median gets what is left over, so that no gradient gains by its position. With D the diameter
// of the points and the median, a step ends within 2^-30 D of the step without rounding from the same v because of the
// factors, and within (k+1) 2^-39 D because of the weights; Delta is within (k+1) 2^-20 D of the last step. A step
// without rounding is a gradient step of length 1 on a mean of Huber functions, which is convex with slopes that change
// no faster than v does, so it brings no two places farther apart: ten steps together err by at most 10 (2^-30 + (k+1)
// 2^-39) D.
//
// Resilience: N >= 10f, the theorem's delta <= 0.1, and the theorem is about a start near the
// honest mean and about the right tau, neither of which is known here. Silent participants do not
// count: k is the number of included gradients. It needs one gradient, as median does.
//
// Score: the distance from the end of the last step, in grid steps, rounded down.
//
// Cost: O(n^2 d) for the distances, O(n log^2 n d) for the median, and O(n^2) a step.
//
// Source: Karimireddy, He, Jaggi, "Learning from History for Byzantine Robust Optimization", ICML 2021, algorithm 2.
type centeredClippingRule struct{}

func (centeredClippingRule) Name() string { return "centered-clipping" }

func (centeredClippingRule) Condition(n, f int) error {
	if f < 0 || n < 1 || n < 10*f {
		return fmt.Errorf("rules: %w: centered-clipping with N = %d, f = %d, want N >= 10f = %d", ErrCondition, n, f, 10*f)
	}
	return nil
}

// Denominator returns the sum of the weights times that of the median.
func (centeredClippingRule) Denominator(n, f, included int) int64 {
	return medianRule{}.Denominator(n, f, included) << weightBits
}

func (centeredClippingRule) Cost() string { return "O(n^2 d + n log^2 n d)" }

func (centeredClippingRule) Source() string { return "Karimireddy et al., ICML 2021, algorithm 2" }

func (centeredClippingRule) feasible(_, _, _ int) error { return nil }

func (centeredClippingRule) aggregate(_ Input, p points) (Output, error) {
	k := p.len()
	median := p.middleMean((k-1)/2, k/2+1)
	h := p.newHull()
	h.addCentre(median.Num, median.Den)
	place := make([]uint64, 1+k) // weights of the median and of the points
	place[0] = 1 << placeBits
	var radius, radiusUnit big.Int // tau^2 times radiusUnit
	for step := range clippingSteps {
		h.measure(place[0], place[1:])
		if step == 0 {
			distances := slices.Clone(h.squares)
			slices.SortFunc(distances, (*big.Int).Cmp)
			radius.Set(distances[(k-1)/2])
			radiusUnit.Set(&h.unit)
		}
		h.clip(place, &radius, &radiusUnit)
	}
	h.measure(place[0], place[1:])
	shares, _, left := share(place)
	return Output{
		Delta:    p.meanWith(median, shares[0]+left, shares[1:]),
		Selected: p.everybody(),
		Score:    h.lengths(),
		Margin:   -1,
	}, nil
}

// clip takes one step. From the weights a_i of the place that was measured, with sum A, and the factors l_i it makes
//
//	a_i <- (a_i (k - sum of l_j) + A l_i) / k
//
// where the centre, a_0, has l_0 = 0 and is left out of the sum. Factors are times 2^clippingBits.
func (h *hull) clip(place []uint64, radius, radiusUnit *big.Int) {
	k := len(place) - 1
	factors := make([]uint64, 1+k)
	rest := uint64(k) << clippingBits
	num, den := new(big.Int).Mul(radius, &h.unit), new(big.Int)
	for i, square := range h.squares {
		factors[1+i] = h.ratioRoot(num, den.Mul(square, radiusUnit), clippingBits)
		rest -= factors[1+i]
	}
	var sum uint64
	for _, a := range place {
		sum += a
	}
	for i, a := range place {
		hi, lo := bits.Mul64(a, rest)
		gainHi, gainLo := bits.Mul64(sum, factors[i])
		lo, carry := bits.Add64(lo, gainLo, 0)
		place[i], _ = bits.Div64(hi+gainHi+carry, lo, uint64(k)<<clippingBits) // at most sum
	}
}

// meanWith returns the mean of the median and the points with these shares.
func (p points) meanWith(median gradients.Fraction, ofMedian int64, shares []int64) gradients.Fraction {
	weights := p.weigh(shares)
	for i := range weights {
		weights[i] *= median.Den / int64(p.size())
	}
	f := gradients.WeightedMean(p.vectors, weights)
	gradients.InBlocks(len(f.Num), 1, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			f.Num[j] += ofMedian * median.Num[j]
		}
	})
	f.Den = median.Den << weightBits
	return f
}
