package rules

import "fmt"

// meanRule averages all included gradients.
//
// Resilience: none. A single Byzantine participant can move the mean anywhere, so the condition is
// f = 0. Other rules are compared with it.
//
// Cost: O(n d).
type meanRule struct{}

func (meanRule) Name() string { return "mean" }

func (meanRule) Condition(n, f int) error {
	if f != 0 {
		return fmt.Errorf("rules: %w: mean with N = %d, f = %d, want f = 0", ErrCondition, n, f)
	}
	return nil
}

func (meanRule) Denominator(_, _, included int) int64 { return int64(included) }

func (meanRule) Cost() string { return "O(n d)" }

func (meanRule) Source() string { return "folklore" }

func (meanRule) feasible(_, _, _ int) error { return nil }

func (meanRule) aggregate(_ Input, p points) (Output, error) {
	return Output{Delta: p.mean(ascending(p.len())), Selected: p.everybody(), Margin: -1}, nil
}
