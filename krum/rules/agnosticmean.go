package rules

import (
	"math/big"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// maxDirections bounds the directions that agnosticMeanRule trims: each costs a power iteration.
const maxDirections = 8

// agnosticMeanRule is a weighted mean. It knows the noise that privacy adds to every honest gradient, hence the
// spectrum of honest gradients: the eigenvalues of their centred Gram matrix stay below the edge
//
//	nu (1 + sqrt(k/d))^2
//
// of the noise's own spectrum (Marchenko and Pastur), where nu is the expected squared norm of the
// noise in one gradient. Along each direction beyond the edge, at most min(f, 8) of them, the rule
// replaces the mean of the gradients' coordinates by their trimmed mean. Everywhere else, where
// nothing sticks out of the noise, it is the mean. For gradients y_i with mean y, and q = sum of
// v_i (y_i - y) the direction of the unit eigenvector v, that is a change of the weights alone:
//
//	Delta = sum of w_i y_i,    w_i = 1/k + sum over the directions of m(v) v_i
//
// with m(v) the mean of v_(f+1) to v_(k-f) in increasing order. Colluding gradients that stand
// apart from the rest along q get the weight 0. A negative weight becomes 0, and the weights are
// brought to sum 1, so that Delta is a convex combination of the gradients.
//
// The rule excludes nobody, by design. An attacker that copies a part of an honest gradient makes a direction in which
// that gradient sticks out; a rule that removes what sticks out removes the victim. Here the victim loses weight for
// the round, and an honest gradient's reputation does not depend on weights.
//
// The floor of the distances stands for the noise: it is twice the squared norm of 0.95 of it, and
// 7/12 of the floor are 1.05 nu. Without a floor min(f, 8) directions are always trimmed.
//
// All of it is integer, with these roundings, which are part of the definition: the entries of the
// centred Gram matrix to 30 bits, eigenvectors to 20 bits after 64 power iterations from the column
// of the largest diagonal entry, weights to multiples of 2^-30, and the shares to 2^-20.
//
// Resilience: N >= 2f+1, for the trimmed mean of each direction; it needs 2f+1 included gradients.
// Of f gradients that share a push of length r off the mean the spectrum shows r^2 f(k-f)/k, so
// what stays hidden is of the order of sqrt(nu) (1/(f d))^(1/4) a gradient. f gradients that push
// in f different directions without noise of their own look like noise in one round, and move Delta
// by at most sqrt(f nu)/k. No bound in the sense of (f, kappa)-robustness is proved.
//
// Score: how far the gradient's weight is below an equal share, in units of 2^-20; 0 if it counts fully.
//
// Cost: O(n^2 d) for the distances and O(n^2) a power iteration.
//
// Source: Lai, Rao, Vempala, "Agnostic Estimation of Mean and Covariance", FOCS 2016
// (arXiv:1604.06968), algorithm 3: the mean where the spectrum is small, and a robust estimate in
// the span of its large eigenvectors. The threshold is this project's.
type agnosticMeanRule struct{}

func (agnosticMeanRule) Name() string { return "agnostic-mean" }

func (agnosticMeanRule) Condition(n, f int) error { return majority("agnostic-mean", n, f) }

// Denominator returns the sum of the weights.
func (agnosticMeanRule) Denominator(_, f, included int) int64 {
	if included < 2*f+1 {
		return 0
	}
	return 1 << weightBits
}

func (agnosticMeanRule) Cost() string { return "O(n^2 d)" }

func (agnosticMeanRule) Source() string {
	return "Lai, Rao and Vempala, FOCS 2016, arXiv:1604.06968, algorithm 3"
}

func (agnosticMeanRule) feasible(_, f, included int) error {
	return trimmable("agnostic-mean", f, included)
}

func (agnosticMeanRule) aggregate(in Input, p points) (Output, error) {
	k := p.len()
	weights := make([]int64, k) // times 2^30
	for i := range weights {
		weights[i] = 1 << 30 / int64(k)
	}
	s := newSpectrum(p.distances())
	edge := s.edge(p.floor, p.vectors[0].Len())
	for range min(in.F, maxDirections) {
		v, sticksOut := s.next(edge)
		if !sticksOut {
			break
		}
		shift(weights, v, in.F)
	}
	convex := make([]uint64, k)
	for i, w := range weights {
		convex[i] = uint64(max(0, w))
	}
	shares := shareAll(convex)
	out := Output{Delta: gradients.WeightedMean(p.vectors, p.weigh(shares)), Score: make([]int64, k), Margin: -1}
	var counted []int
	for i, c := range shares {
		out.Score[i] = max(0, 1<<weightBits/int64(k)-c)
		if c > 0 {
			counted = append(counted, i)
		}
	}
	out.Selected = p.entered(counted)
	return out, nil
}

// shift moves the weights from the mean to the trimmed mean along the direction of v.
func shift(weights, v []int64, f int) {
	sorted := slices.Sorted(slices.Values(v))
	var middle, square int64 // below 2^32, 2^52
	for i, x := range sorted {
		square += x * x
		if i >= f && i < len(v)-f {
			middle += x
		}
	}
	den := big.NewInt(square)
	den.Mul(den, big.NewInt(int64(len(v)-2*f)))
	scaled := new(big.Int).Lsh(big.NewInt(middle), 30)
	var by big.Int
	for i, x := range v {
		by.Mul(scaled, by.SetInt64(x))
		weights[i] += by.Div(&by, den).Int64() // rounded down; at most 2^30
	}
}
