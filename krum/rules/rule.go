package rules

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// The errors that an aggregation or a lookup wraps. The first three are those of package krum.
var (
	ErrInfeasible = krum.ErrInfeasible
	ErrTooFew     = krum.ErrTooFew
	ErrCondition  = krum.ErrCondition
	ErrUnknown    = errors.New("unknown rule")
)

// Rule is an aggregation rule. It has no state.
type Rule interface {
	// Name is the rule's name in genesis.
	Name() string
	// Aggregate computes Delta.
	//
	// Errors: ErrInfeasible if in makes no sense, ErrTooFew if too few gradients are included for
	// the rule. It panics if the vectors' shapes differ: they were decoded with one shape.
	Aggregate(in Input) (Output, error)
	// Feasible returns nil if the rule can aggregate that many included gradients of n participants, otherwise the error
	// of Aggregate, which wraps ErrInfeasible or ErrTooFew. It is decided by the numbers alone, in constant time.
	Feasible(n, f, included int) error
	// Condition returns nil if the rule's theorem covers f Byzantine of n participants, otherwise
	// an error that wraps ErrCondition and says what it requires behind "want ". It is a warning.
	Condition(n, f int) error
	// Denominator returns the denominator of Delta for included gradients of n participants, which a validator needs to
	// decode a Delta that it is sent; 0 if the rule cannot aggregate that many.
	Denominator(n, f, included int) int64
	// Cost says how the rule's work grows with the number of gradients n and of coordinates d, for documents.
	Cost() string
	// Source cites where the rule was published, for documents.
	Source() string
}

// Input is the input of an aggregation.
type Input struct {
	// N is the number of active participants, never of included gradients; at most gradients.MaxParticipants.
	N int
	// F is the number of Byzantine participants to withstand.
	F int
	// Vectors are the included gradients in participant order.
	Vectors []gradients.Vector
	// Unsquared makes Krum's score a sum of distances rather than of squared ones. Rules without a score ignore it.
	Unsquared bool
	// Floor is the least squared distance that two gradients are credited with, in squared grid steps. Rules that compare
	// no distances of gradients ignore it; with mixing it applies to the distances of the gradients, not of the mixtures,
	// whose noise is averaged. With bucketing it applies to the buckets, as much as their noise is averaged.
	Floor int64
	// Seed orders the gradients for bucketing; other rules ignore it. Nobody alone should be able to choose it, and it
	// should be fixed before the gradients are: the chain gives the round's election seed. nil is a seed like any other;
	// the order is then the same in every round, and everybody knows it.
	Seed []byte
}

// Output is the aggregate, and why it came out so.
type Output struct {
	// Delta has the denominator that Denominator returns.
	Delta gradients.Fraction
	// Selected holds the positions in the input that entered Delta: best first for Krum, multi-Krum, Bulyan and
	// comparative elimination, and ascending for the other rules and with mixing or bucketing.
	Selected []int
	// Score says for each gradient of the input how badly it fits: the lowest score is the best. It is nil if the rule has
	// no scores. The Score line of a rule's comment says what is measured, and in which unit. With mixing it holds the
	// scores of the mixtures, with bucketing those of the gradients' buckets; squared distances and squared norms are then
	// in squared grid steps times the square of the number of gradients in a mixture or bucket. A score beyond int64 shows
	// as the largest int64.
	Score []int64
	// Neighbours are krum.Result.Neighbours, nil where the rule has none. With mixing they are the positions that were
	// mixed, itself first, then nearest first; with bucketing the positions in the same bucket, itself first.
	Neighbours [][]int
	// Margin is the score of the best gradient that did not enter Delta minus that of the worst
	// that did, at least 0; -1 if all entered or the rule has no margin.
	Margin int64
}

// check returns an error if a rule cannot aggregate the input.
func (in Input) check(r Rule) error {
	if err := r.Feasible(in.N, in.F, len(in.Vectors)); err != nil {
		return err
	}
	if in.Floor < 0 {
		return fmt.Errorf("rules: %w: floor %d, want at least 0", ErrInfeasible, in.Floor)
	}
	gradients.Shape(in.Vectors)
	return nil
}

// feasible returns an error for numbers that no rule can aggregate.
func feasible(n, f, included int) error {
	switch {
	case f < 0 || f >= n || n > gradients.MaxParticipants:
		return fmt.Errorf("rules: %w: N = %d, f = %d, want 0 <= f < N <= %d", ErrInfeasible, n, f, gradients.MaxParticipants)
	case included > n:
		return fmt.Errorf("rules: %w: %d vectors of %d participants", ErrInfeasible, included, n)
	case included < 1:
		return fmt.Errorf("rules: %w: none included", ErrTooFew)
	}
	return nil
}

// majority returns the condition that most coordinate-wise rules share: honest participants outnumber Byzantine ones.
func majority(rule string, n, f int) error {
	if f < 0 || n < 2*f+1 {
		return fmt.Errorf("rules: %w: %s with N = %d, f = %d, want N >= 2f+1 = %d", ErrCondition, rule, n, f, 2*f+1)
	}
	return nil
}

// ascending returns 0 to n-1.
func ascending(n int) []int {
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	return positions
}
