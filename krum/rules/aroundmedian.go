package rules

import "fmt"

// aroundMedianRule averages, for each coordinate, the k-f values that are nearest to the median, where k gradients are
// included. Of an even number the median is the mean of the two in the middle; at equal distance the lower value counts
// as the nearer, so that the order of participants never matters.
//
// Resilience: N >= 2f+1. It needs 2f+1 included gradients. Up to f of them may be Byzantine however
// many participants are silent, so that k-f values are taken, not N-f, just as trimmedMeanRule
// drops f at either end of the included values.
//
// Cost: O(n log^2 n d), see nearMedian.
//
// Source: Xie, Koyejo, Gupta, "Generalized Byzantine-tolerant SGD", 2018 (arXiv:1802.10116), "mean around median",
// MeaMed in later work. Not to be mistaken for the same authors' Phocas, which is the mean around the trimmed mean.
type aroundMedianRule struct{}

func (aroundMedianRule) Name() string { return "mean-around-median" }

func (aroundMedianRule) Condition(n, f int) error { return majority("mean-around-median", n, f) }

// Denominator returns the number of values that are taken, included - f.
func (aroundMedianRule) Denominator(_, f, included int) int64 { return honestMajority(f, included) }

func (aroundMedianRule) Cost() string { return "O(n log^2 n d)" }

func (aroundMedianRule) Source() string { return "Xie et al., 2018, arXiv:1802.10116" }

func (aroundMedianRule) feasible(_, f, included int) error {
	if honestMajority(f, included) == 0 {
		return fmt.Errorf("rules: %w: mean-around-median of %d included with f = %d, want at least 2f+1 = %d",
			ErrTooFew, included, f, 2*f+1)
	}
	return nil
}

func (aroundMedianRule) aggregate(in Input, p points) (Output, error) {
	return Output{Delta: p.nearMedian(p.len() - in.F), Selected: p.everybody(), Margin: -1}, nil
}

// honestMajority returns the least number of honest gradients among those included, or 0 if they
// may fail to outnumber the f others.
func honestMajority(f, included int) int64 {
	if f < 0 || included < 2*f+1 {
		return 0
	}
	return int64(included - f)
}
