package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

func TestNames(t *testing.T) {
	names := Names()
	require.True(t, slices.IsSorted(names))
	require.Len(t, slices.Compact(slices.Clone(names)), len(names), "two rules have one name")
	for inner := range references {
		for _, name := range []string{inner, "nnm+" + inner, "bucketing+" + inner} {
			require.Contains(t, names, name, "it has a reference and is not in registry.go")
		}
	}
	for _, name := range names {
		requireReference(t, name)
		require.Equal(t, name, lookup(t, name).Name())
	}
}

// What the documents print of each rule.
func TestRulesDescribeThemselves(t *testing.T) {
	for _, name := range Names() {
		rule := lookup(t, name)
		require.Regexp(t, `^O\(.* d`, rule.Cost(), name)
		require.NotEmpty(t, rule.Source(), name)
		require.Equal(t, strings.HasPrefix(name, "nnm+"), strings.Contains(rule.Source(), "Allouah"), name)
		require.Equal(t, strings.HasPrefix(name, "bucketing+"), strings.Contains(rule.Source(), "bucketing"), name)
	}
}

func TestLookupListsWhatThereIs(t *testing.T) {
	for _, name := range []string{"", "Krum", "nnm+", "nnm+nnm+mean", "bucketing+nnm+mean", "bulyan "} {
		_, err := Lookup(name)
		require.ErrorIs(t, err, ErrUnknown)
		for _, known := range Names() {
			_, plain, mixed := strings.Cut(known, "+")
			if !mixed {
				plain = known
			}
			require.ErrorContains(t, err, plain)
		}
		require.ErrorContains(t, err, "each also after nnm+ or bucketing+")
	}
}

func TestConditions(t *testing.T) {
	for inner, least := range map[string]func(f int) int{
		"krum":               func(f int) int { return 2*f + 3 },
		"multi-krum":         func(f int) int { return 2*f + 3 },
		"median":             func(f int) int { return 2*f + 1 },
		"trimmed-mean":       func(f int) int { return 2*f + 1 },
		"mean-around-median": func(f int) int { return 2*f + 1 },
		"geometric-median":   func(f int) int { return 2*f + 1 },
		"mda":                func(f int) int { return 2*f + 1 },
		"agnostic-mean":      func(f int) int { return 2*f + 1 },
		"cge":                func(f int) int { return 3*f + 1 },
		"bulyan":             func(f int) int { return 4*f + 3 },
		"centered-clipping":  func(f int) int { return max(1, 10*f) },
	} {
		for name, factor := range map[string]int{inner: 1, "nnm+" + inner: 1, "bucketing+" + inner: 2} {
			for f := range 5 {
				n := least(f)
				if factor == 2 {
					n = 2*n - 1 // the least that fills as many buckets
				}
				require.NoError(t, lookup(t, name).Condition(n, f), name)
				err := lookup(t, name).Condition(n-1, f)
				require.ErrorIs(t, err, ErrCondition, name)
				require.ErrorContains(t, err, "want N >= ")
			}
			require.ErrorIs(t, lookup(t, name).Condition(9, -1), ErrCondition)
		}
	}
	for _, name := range Names() { // spdl rules says what stands behind "want"
		if err := lookup(t, name).Condition(4, 4); err != nil {
			require.ErrorIs(t, err, ErrCondition, name)
			require.ErrorContains(t, err, "want ", name)
		}
	}
	for _, name := range []string{"mean", "nnm+mean", "bucketing+mean"} {
		require.NoError(t, lookup(t, name).Condition(4, 0))
		require.ErrorIs(t, lookup(t, name).Condition(100, 1), ErrCondition)
	}
}

func TestDenominators(t *testing.T) {
	for name, want := range map[string][3]int64{ // of N = 10, f = 3 with 10, 9 and 3 included
		"mean":             {10, 9, 3},
		"krum":             {1, 1, 1},
		"multi-krum":       {7, 7, 3},
		"median":           {2, 1, 1},
		"trimmed-mean":     {4, 3, 0},
		"nnm+mean":         {70, 54, 0},
		"nnm+krum":         {7, 6, 0},
		"nnm+multi-krum":   {49, 42, 0},
		"nnm+median":       {14, 6, 0},
		"nnm+trimmed-mean": {28, 18, 0},

		"mean-around-median": {7, 6, 0},
		"mda":                {7, 6, 0},
		"cge":                {7, 6, 0},
		"bulyan":             {0, 0, 0}, // needs N >= 13
		"geometric-median":   {1 << 20, 1 << 20, 1 << 20},
		"agnostic-mean":      {1 << 20, 1 << 20, 0},
		"centered-clipping":  {2 << 20, 1 << 20, 1 << 20},

		"nnm+geometric-median":  {7 << 20, 6 << 20, 0},
		"nnm+centered-clipping": {14 << 20, 6 << 20, 0},

		"bucketing+mean":              {10, 10, 4}, // 5, 5 and 2 buckets
		"bucketing+median":            {2, 2, 4},
		"bucketing+cge":               {4, 4, 0},
		"bucketing+trimmed-mean":      {0, 0, 0}, // needs N' >= 7
		"bucketing+centered-clipping": {2 << 20, 2 << 20, 4 << 20},
	} {
		for i, included := range []int{10, 9, 3} {
			require.Equal(t, want[i], lookup(t, name).Denominator(10, 3, included), "%s of %d", name, included)
		}
	}
	require.Equal(t, int64(2), lookup(t, "bulyan").Denominator(14, 3, 12))
	require.Equal(t, int64(9), lookup(t, "bulyan").Denominator(10, 0, 9), "with f = 0 a missing one is not waited for")
	require.Equal(t, int64(67), lookup(t, "mda").Denominator(100, 33, 100))
	require.Zero(t, lookup(t, "mda").Denominator(200, 34, 200))
	require.Zero(t, lookup(t, "bucketing+median").Denominator(10, 5, 10))
	// The largest that there is.
	n := gradients.MaxParticipants
	require.LessOrEqual(t, lookup(t, "nnm+centered-clipping").Denominator(n, 0, n), int64(gradients.MaxDenominator))
}

// TestFeasible: the numbers alone decide whether a rule can aggregate, and with the words of
// Aggregate.
func TestFeasible(t *testing.T) {
	vs := generate(gradients.Int8, 14, 1, 9, 1)
	for _, name := range Names() {
		rule := lookup(t, name)
		for n := range len(vs) {
			for f := -1; f <= n; f++ {
				for k := range n + 2 {
					_, err := rule.Aggregate(Input{N: n, F: f, Vectors: vs[:min(k, len(vs))]})
					require.Equal(t, err, rule.Feasible(n, f, min(k, len(vs))), "%s with N = %d, f = %d, %d included", name, n, f, k)
				}
			}
		}
	}
	require.ErrorIs(t, lookup(t, "mda").Feasible(120, 34, 120), ErrInfeasible)
	require.NoError(t, lookup(t, "nnm+trimmed-mean").Feasible(1000, 333, 667))
}
