package rules

// medianRule takes the median of each coordinate; of an even number of gradients the mean of the
// two in the middle.
//
// Resilience: N >= 2f+1, so that an honest value lies on either side of the median, or is it.
//
// Cost: O(n log^2 n d), see middleMean.
//
// Source: Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal
// Statistical Rates", ICML 2018, definition 1.
type medianRule struct{}

func (medianRule) Name() string { return "median" }

func (medianRule) Condition(n, f int) error { return majority("median", n, f) }

// Denominator returns 1 if the number of included gradients is odd, else 2.
func (medianRule) Denominator(_, _, included int) int64 { return int64(2 - included%2) }

func (medianRule) Cost() string { return "O(n log^2 n d)" }

func (medianRule) Source() string { return "Yin et al., ICML 2018, definition 1" }

func (medianRule) feasible(_, _, _ int) error { return nil }

func (medianRule) aggregate(_ Input, p points) (Output, error) {
	k := p.len()
	return Output{Delta: p.middleMean((k-1)/2, k/2+1), Selected: p.everybody(), Margin: -1}, nil
}
