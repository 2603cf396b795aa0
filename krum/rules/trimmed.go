package rules

import "fmt"

// trimmedMeanRule drops the f largest and the f smallest values of each coordinate and averages the others.
//
// Resilience: N >= 2f+1; it needs 2f+1 included gradients. With nearest-neighbour mixing it is the recommended rule.
//
// Cost: O(n log^2 n d), see middleMean.
//
// Source: Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal
// Statistical Rates", ICML 2018, definition 2, with beta = f/n.
type trimmedMeanRule struct{}

func (trimmedMeanRule) Name() string { return "trimmed-mean" }

func (trimmedMeanRule) Condition(n, f int) error { return majority("trimmed-mean", n, f) }

// Denominator returns the number of values that are left, included - 2f.
func (trimmedMeanRule) Denominator(_, f, included int) int64 { return int64(max(0, included-2*f)) }

func (trimmedMeanRule) Cost() string { return "O(n log^2 n d)" }

func (trimmedMeanRule) Source() string { return "Yin et al., ICML 2018, definition 2" }

func (trimmedMeanRule) feasible(_, f, included int) error {
	return trimmable("trimmed-mean", f, included)
}

// trimmable returns an error if nothing is left after dropping f values at either end.
func trimmable(rule string, f, included int) error {
	if included < 2*f+1 {
		return fmt.Errorf("rules: %w: %s of %d included with f = %d, want at least 2f+1 = %d", ErrTooFew, rule, included, f,
			2*f+1)
	}
	return nil
}

func (trimmedMeanRule) aggregate(in Input, p points) (Output, error) {
	return Output{Delta: p.middleMean(in.F, p.len()-in.F), Selected: p.everybody(), Margin: -1}, nil
}
