package rules

import "github.com/spdl/spdl/krum"

// krumRule returns the input with the lowest sum of squared distances to its N-f-2 nearest other
// inputs; of equal sums the lower position wins.
//
// Resilience: N >= 2f+3. It needs N-f-1 included gradients, because a missing gradient is at distance infinity.
//
// Cost: O(n^2 d) for the distances, which dominate, by gradients.Pairwise.
//
// Source: Blanchard, El Mhamdi, Guerraoui, Stainer, "Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent", NIPS 2017, section 4. See package krum.
type krumRule struct{}

func (krumRule) Name() string { return "krum" }

func (krumRule) Condition(n, f int) error { return krum.Condition(n, f) }

func (krumRule) feasible(n, f, included int) error { return krum.Feasible(n, f, included) }

func (krumRule) Denominator(_, _, _ int) int64 { return 1 }

func (krumRule) Cost() string { return "O(n^2 d)" }

func (krumRule) Source() string { return "Blanchard et al., NIPS 2017, section 4" }

func (krumRule) aggregate(in Input, p points) (Output, error) { return p.best(1, in) }

// multiKrumRule averages the m = N-f inputs with the lowest Krum scores, or all inputs if there are fewer.
//
// Resilience: N >= 2f+3, as for Krum, although the paper proves nothing for m > 1. A mean of m
// inputs has less variance than one input.
//
// Cost: that of Krum, and O(m d).
//
// Source: that of Krum, section 6 of the paper. m is the largest number for which the average has
// no more gradients than there are honest ones.
type multiKrumRule struct{ krumRule }

func (multiKrumRule) Name() string { return "multi-krum" }

func (multiKrumRule) Denominator(n, f, included int) int64 { return int64(max(0, min(n-f, included))) }

func (multiKrumRule) Source() string { return "Blanchard et al., NIPS 2017, section 6" }

func (multiKrumRule) aggregate(in Input, p points) (Output, error) {
	return p.best(min(in.N-in.F, p.len()), in)
}
