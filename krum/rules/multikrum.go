package rules

import "github.com/spdl/spdl/krum"

// multiKrumRule averages the m = N-f inputs with the lowest Krum scores, or all inputs if there are fewer.
//
// Resilience: N >= 2f+3, as for Krum, although the paper proves nothing for m > 1. A mean of m
// inputs has less variance than one input.
//
// Cost: that of Krum, and O(m d).
//
// Source: that of Krum, section 6 of the paper. m is the largest number for which the average has
// no more gradients than there are honest ones.
type multiKrumRule struct{}

func (multiKrumRule) Name() string { return "multi-krum" }

func (multiKrumRule) Condition(n, f int) error { return krum.Condition(n, f) }

func (multiKrumRule) feasible(n, f, included int) error { return krum.Feasible(n, f, included) }

func (multiKrumRule) Denominator(n, f, included int) int64 { return int64(max(0, min(n-f, included))) }

func (multiKrumRule) Cost() string { return "O(n^2 d)" }

func (multiKrumRule) Source() string { return "Blanchard et al., NIPS 2017, section 6" }

func (multiKrumRule) aggregate(in Input, p points) (Output, error) {
	return p.best(min(in.N-in.F, p.len()), in)
}
