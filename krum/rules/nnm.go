package rules

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// mixedRule applies a rule after nearest-neighbour mixing: each gradient is replaced by the mean of the included-f
// gradients that are nearest to it, itself among them, ties to the lower position. Means share a denominator, so
// mixtures are kept as sums and the denominator of Delta grows by the factor included-f.
//
// Resilience: N >= 2f+1 and the rule's own condition. If the rule has such a condition, mixing
// makes it optimal up to constants under heterogeneous data.
//
// Cost: O(n^2 d) for the distances and O(n min(f, n-f) d) for the sums, which mean, Krum and multi-Krum do without.
//
// Source: Allouah, Farhadkhani, Guerraoui, Gupta, Pinot, Stephan, "Fixing by Mixing: A Recipe for
// Optimal Byzantine ML under Heterogeneity", AISTATS 2023, algorithm 2.
type mixedRule struct{ aggregator }

func (r mixedRule) Name() string { return "nnm+" + r.aggregator.Name() }

func (r mixedRule) Condition(n, f int) error {
	if err := majority(r.Name(), n, f); err != nil {
		return err
	}
	return r.aggregator.Condition(n, f)
}

func (r mixedRule) Denominator(n, f, included int) int64 {
	return int64(max(0, included-f)) * r.aggregator.Denominator(n, f, included)
}

func (r mixedRule) Cost() string { return r.aggregator.Cost() + "; before it O(n^2 d) for mixing" }

func (r mixedRule) Source() string {
	return r.aggregator.Source() + "; mixing: Allouah et al., AISTATS 2023, algorithm 2"
}

func (r mixedRule) Feasible(n, f, included int) error {
	if err := feasible(n, f, included); err != nil {
		return err
	}
	if included <= f {
		return fmt.Errorf("rules: %w: mix %d included with f = %d, want at least f+1 = %d", ErrTooFew, included, f, f+1)
	}
	return r.feasible(n, f, included)
}

func (r mixedRule) Aggregate(in Input) (Output, error) {
	if err := in.check(r); err != nil {
		return Output{}, err
	}
	p := mix(in)
	out, err := r.aggregate(in, p)
	if err != nil {
		return Output{}, err
	}
	out.Neighbours = p.members
	return out, nil
}

// mix returns the mixtures of in's vectors.
func mix(in Input) points {
	k := len(in.Vectors)
	d := gradients.Pairwise(in.Vectors)
	members := make([][]int, k)
	for i, near := range krum.Nearest(d, k-in.F-1, in.Floor) {
		members[i] = slices.Concat([]int{i}, near)
	}
	return points{vectors: in.Vectors, members: members, pairs: d} // the floor did its work here
}
