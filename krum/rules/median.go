package rules

// medianRule takes the median of each coordinate. For an even number of gradients it is the mean of
// the two middle values.
//
// Resilience: N >= 2f+1, so that the median is an honest value or lies between two honest values.
//
// Cost: O(n log^2 n d), see middleMean.
//
// Source: Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal
// Statistical Rates", ICML 2018, definition 1.
type medianRule struct{}

func (medianRule) Name() string { return "median" }

func (medianRule) Condition(n, f int) error { return majority("median", n, f) }

// Denominator returns 1 if the number of included gradients is odd, and otherwise 2.
func (medianRule) Denominator(_, _, included int) int64 { return int64(2 - included%2) }

func (medianRule) Cost() string { return "O(n log^2 n d)" }

func (medianRule) Source() string { return "Yin et al., ICML 2018, definition 1" }

func (medianRule) feasible(_, _, _ int) error { return nil }

func (medianRule) aggregate(_ Input, p points) (Output, error) {
	k := p.len()
	return Output{Delta: p.middleMean((k-1)/2, k/2+1), Selected: p.everybody(), Margin: -1}, nil
}
