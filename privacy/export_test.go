package privacy

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
