package krum

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
)

// instance draws distances and options that admit them.
func instance(t *rapid.T) (*gradients.Distances, int, Options) {
	r := splitmix64(rapid.Uint64().Draw(t, "seed"))
	n, m, o := feasible(&r)
	names := []string{"ties", "small", "two classes", "gradients", "least wide", "any magnitude"}
	return draw(&r, n, families[rapid.SampledFrom(names).Draw(t, "family")]), m, o
}

// Renaming the vectors renames the result: scores always, the selection unless it is tied.
func TestPermutationEquivariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, m, o := instance(t)
		positions := make([]int, d.Len())
		for i := range positions {
			positions[i] = i
		}
		to := rapid.Permutation(positions).Draw(t, "permutation")
		moved := gradients.DistancesOf(d.Len(), func(i, j int) int64 { return d.At(to[i], to[j]) })
		a, err := Select(d, m, o)
		require.NoError(t, err)
		b, err := Select(moved, m, o)
		require.NoError(t, err)
		require.Equal(t, a.Margin, b.Margin)
		for i := range to {
			require.Equal(t, a.Score[to[i]], b.Score[i])
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(a.Score)))
		if len(distinct) == d.Len() {
			for k, i := range b.Selected {
				require.Equal(t, a.Selected[k], to[i])
			}
		}
	})
}

// The m best are the first m of the m+1 best, so multi-Krum extends Krum.
func TestSelectionsAreNested(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _, o := instance(t)
		all, err := Select(d, d.Len(), o)
		require.NoError(t, err)
		require.Equal(t, int64(-1), all.Margin)
		for m := 1; m < d.Len(); m++ {
			r, err := Select(d, m, o)
			require.NoError(t, err)
			require.Equal(t, all.Selected[:m], r.Selected)
			require.GreaterOrEqual(t, r.Margin, int64(0))
		}
	})
}

// Multiplying all distances by a square, and the floor, changes no selection. (Not so in unsquared
// mode, whose roots are rounded to multiples of 2^-24 whatever the scale.)
func TestScaleInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := splitmix64(rapid.Uint64().Draw(t, "seed"))
		n, m, o := feasible(&r)
		o.Unsquared = false
		d := draw(&r, n, families["two classes"])
		c := rapid.Int64Range(1, 1<<20).Draw(t, "scale")
		scaled := gradients.DistancesOf(n, func(i, j int) int64 { return c * c * d.At(i, j) })
		a, err := Select(d, m, o)
		require.NoError(t, err)
		b, err := Select(scaled, m, o)
		require.NoError(t, err)
		require.Equal(t, a.Selected, b.Selected)
		require.Equal(t, a.Neighbours, b.Neighbours)
	})
}

// A distance that is no pair's own but only farther away cannot change a score that does not sum
// over it.
func TestOnlyNeighboursMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, m, o := instance(t)
		a, err := Select(d, m, o)
		require.NoError(t, err)
		farther := gradients.DistancesOf(d.Len(), func(i, j int) int64 {
			if slices.Contains(a.Neighbours[i], j) || slices.Contains(a.Neighbours[j], i) {
				return d.At(i, j)
			}
			return 1<<63 - 1
		})
		b, err := Select(farther, m, o)
		require.NoError(t, err)
		require.Equal(t, a, b)
	})
}
