package rules

import "github.com/spdl/spdl/krum"

// multiKrumRule averages the m = N-f inputs with the least Krum scores, or all if no more than that
// are included.
//
// Resilience: N >= 2f+3, as Krum, though the paper proves nothing for m > 1; a mean of m has less
// variance than one input.
//
// Cost: as Krum, and O(m d).
//
// Source: as Krum, section 6 of the paper, with the largest m for which the average is not made of
// more gradients than there are honest ones.
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
