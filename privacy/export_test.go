package privacy

import (
	"math"

	"github.com/spdl/spdl/privacy/floor"
)

// The steps of the discrete sampler, for statistical tests.

func (s *Source) Below(n uint64) uint64                 { return s.below(n) }
func (s *Source) Exp(a, b uint64) bool                  { return s.exp(a, b) }
func (s *Source) ExpOne() bool                          { return s.expOne() }
func (s *Source) Laplace(t uint64) (y uint64, neg bool) { return s.discreteLaplace(t) }

// ExpWide takes a and b below 2^64 and stretches them over 128 bits.
func (s *Source) ExpWide(a, b uint64) bool {
	unit := wide{lo: b}
	shift := unit.leadingZeros()
	return s.expWide(wide{lo: a}, unit.shifted(shift), shift)
}

// VarianceFactor returns v_t, as package floor has it for validators.
func VarianceFactor(beta float64, t int) float64 { return floor.VarianceFactor(beta, t) }

// SubmittedStd returns s_t = (z*C/B)*sqrt(v_t): the standard deviation of the noise in each coordinate of the vector of
// release t, counted from 1, before rounding to the grid; in units of the batch-mean gradient. It is 0 for kinds whose
// noise is not known in advance. Same bits on every machine.
func SubmittedStd(c Config, t int) float64 {
	return roundStd(c) * math.Sqrt(VarianceFactor(c.Momentum, t))
}
