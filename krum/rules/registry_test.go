package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	names := Names()
	require.True(t, slices.IsSorted(names))
	require.Equal(t, []string{
		"krum", "mean", "median", "multi-krum",
		"nnm+krum", "nnm+mean", "nnm+median", "nnm+multi-krum", "nnm+trimmed-mean", "trimmed-mean",
	}, names)
	for _, name := range names {
		require.Equal(t, name, lookup(t, name).Name())
		require.Contains(t, references, strings.TrimPrefix(name, "nnm+"), "add a reference for the new rule")
	}
}

func TestLookupListsWhatThereIs(t *testing.T) {
	for _, name := range []string{"", "Krum", "nnm+", "nnm+nnm+mean", "bulyan "} {
		_, err := Lookup(name)
		require.ErrorIs(t, err, ErrUnknown)
		require.ErrorContains(t, err, strings.Join(Names(), ", "))
	}
}

func TestConditions(t *testing.T) {
	for name, least := range map[string]func(f int) int{
		"krum":             func(f int) int { return 2*f + 3 },
		"multi-krum":       func(f int) int { return 2*f + 3 },
		"median":           func(f int) int { return 2*f + 1 },
		"trimmed-mean":     func(f int) int { return 2*f + 1 },
		"nnm+krum":         func(f int) int { return 2*f + 3 },
		"nnm+multi-krum":   func(f int) int { return 2*f + 3 },
		"nnm+median":       func(f int) int { return 2*f + 1 },
		"nnm+trimmed-mean": func(f int) int { return 2*f + 1 },
	} {
		for f := range 5 {
			require.NoError(t, lookup(t, name).Condition(least(f), f), name)
			err := lookup(t, name).Condition(least(f)-1, f)
			require.ErrorIs(t, err, ErrCondition, name)
			require.ErrorContains(t, err, "want N >= 2f+")
		}
		require.ErrorIs(t, lookup(t, name).Condition(9, -1), ErrCondition)
	}
	for _, name := range []string{"mean", "nnm+mean"} {
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
	} {
		for i, included := range []int{10, 9, 3} {
			require.Equal(t, want[i], lookup(t, name).Denominator(10, 3, included), "%s of %d", name, included)
		}
	}
}
