package mnist_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/mnist"
)

// disjoint fails unless the shards name every index of [0, n) at most once; it returns how many
// they name.
func disjoint(t require.TestingT, shards [][]int, n int) (named int) {
	seen := make([]bool, n)
	for _, shard := range shards {
		for _, i := range shard {
			require.False(t, seen[i], "index %d twice", i)
			seen[i] = true
			named++
		}
	}
	return named
}

func drawLabels(t *rapid.T, classes int) []uint8 {
	return rapid.SliceOfN(rapid.Uint8Range(0, uint8(classes-1)), 1, 200).Draw(t, "labels")
}

func TestPartitionIIDLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		parts := rapid.IntRange(1, n).Draw(t, "parts")
		seed := rapid.Uint64().Draw(t, "seed")
		shards := mnist.PartitionIID(n, parts, seed)
		require.Len(t, shards, parts)
		for _, shard := range shards {
			require.Len(t, shard, n/parts)
		}
		require.Equal(t, n-n%parts, disjoint(t, shards, n))
		require.Equal(t, shards, mnist.PartitionIID(n, parts, seed))
	})
}

func TestPartitionIIDShuffles(t *testing.T) {
	a, b := mnist.PartitionIID(1000, 2, 1), mnist.PartitionIID(1000, 2, 2)
	assert.NotEqual(t, a, b)
	assert.False(t, slices.IsSorted(a[0]))
	assert.PanicsWithValue(t, "mnist: 3 parts of 2 examples", func() { mnist.PartitionIID(2, 3, 1) })
	assert.PanicsWithValue(t, "mnist: 0 parts of 2 examples", func() { mnist.PartitionIID(2, 0, 1) })
}

func TestPartitionDirichletLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 10).Draw(t, "classes")
		marks := drawLabels(t, classes)
		parts := rapid.IntRange(1, len(marks)).Draw(t, "parts")
		alpha := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log10 alpha"))
		alpha = min(max(alpha, 1e-6), 1e6)
		seed := rapid.Uint64().Draw(t, "seed")
		shards, err := mnist.PartitionDirichlet(marks, classes, parts, alpha, seed)
		require.NoError(t, err)
		require.Len(t, shards, parts)
		require.Equal(t, len(marks), disjoint(t, shards, len(marks)))
		for _, shard := range shards {
			require.NotEmpty(t, shard)
			require.True(t, slices.IsSorted(shard))
		}
		again, err := mnist.PartitionDirichlet(marks, classes, parts, alpha, seed)
		require.NoError(t, err)
		require.Equal(t, shards, again)
	})
}

// The variance of a part's share of a class under Dirichlet(alpha) over k parts is
// (k-1)/(k²(k*alpha+1)). Over 1,000 classes and 4 parts, whose seeds are fixed, the estimate is
// within 15 % of it.
func TestPartitionDirichletShares(t *testing.T) {
	const classes, parts, each = 200, 4, 200
	marks := make([]uint8, classes*each)
	for i := range marks {
		marks[i] = uint8(i % classes)
	}
	for _, alpha := range []float64{0.1, 0.5, 1, 10, 1000} {
		var square float64
		const seeds = 5
		for seed := range uint64(seeds) {
			shards, err := mnist.PartitionDirichlet(marks, classes, parts, alpha, seed)
			require.NoError(t, err)
			for _, shard := range shards {
				var count [classes]float64
				for _, i := range shard {
					count[marks[i]]++
				}
				for _, c := range count {
					d := c/each - 1.0/parts
					square += d * d / (parts * classes * seeds)
				}
			}
		}
		want := (parts - 1) / (parts * parts * (parts*alpha + 1))
		// Counts are rounded to whole examples: an error of variance up to 1/6 example squared.
		assert.InDelta(t, want, square, 0.15*want+1.0/(6*each*each), "alpha %v", alpha)
	}
}

func TestPartitionDirichletSeeds(t *testing.T) {
	marks := make([]uint8, 1000)
	a, err := mnist.PartitionDirichlet(marks, 1, 3, 1, 1)
	require.NoError(t, err)
	b, err := mnist.PartitionDirichlet(marks, 1, 3, 1, 2)
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
}

func TestPartitionErrors(t *testing.T) {
	marks := []uint8{0, 1, 1, 1}
	for _, alpha := range []float64{0, -1, 1e-7, 1e7, math.NaN(), math.Inf(1)} {
		_, err := mnist.PartitionDirichlet(marks, 2, 2, alpha, 1)
		require.ErrorIs(t, err, mnist.ErrPartition)
		assert.ErrorContains(t, err, "want 1e-06 to 1e+06")
	}
	for _, c := range []struct {
		classes, parts int
		is             error
		want           string
	}{
		{0, 2, mnist.ErrPartition, "mnist: bad partition: 2 parts of 4 examples in 0 classes"},
		{2, 0, mnist.ErrPartition, "mnist: bad partition: 0 parts of 4 examples in 2 classes"},
		{2, 5, mnist.ErrPartition, "mnist: bad partition: 5 parts of 4 examples in 2 classes"},
		{1, 2, mnist.ErrLabel, "mnist: label out of range: label 1 is 1, want below 1"},
	} {
		_, err := mnist.PartitionDirichlet(marks, c.classes, c.parts, 1, 1)
		require.ErrorIs(t, err, c.is)
		assert.EqualError(t, err, c.want)
	}
}
