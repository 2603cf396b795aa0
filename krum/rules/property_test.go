package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
)

func drawCase(t *rapid.T) (Rule, Input) {
	r := splitmix64(rapid.Uint64().Draw(t, "seed"))
	name := rapid.SampledFrom(Names()).Draw(t, "rule")
	return lookup(t, name), drawInput(&r, name)
}

// No rule leaves the box that its inputs span.
func TestDeltaLiesBetweenTheInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, in := drawCase(t)
		out, err := rule.Aggregate(in)
		require.NoError(t, err)
		for j, num := range out.Delta.Num {
			least, most := in.Vectors[0].At(j), in.Vectors[0].At(j)
			for _, v := range in.Vectors {
				least, most = min(least, v.At(j)), max(most, v.At(j))
			}
			require.LessOrEqual(t, least*out.Delta.Den, num)
			require.GreaterOrEqual(t, most*out.Delta.Den, num)
		}
	})
}

// What all agree on is the aggregate, whatever the rule; nobody is dropped for a worse score than
// another.
func TestEqualInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, in := drawCase(t)
		for i := range in.Vectors {
			in.Vectors[i] = in.Vectors[0]
		}
		out, err := rule.Aggregate(in)
		require.NoError(t, err)
		for j, num := range out.Delta.Num {
			require.Equal(t, in.Vectors[0].At(j)*out.Delta.Den, num)
		}
		for _, s := range out.Score {
			require.Equal(t, out.Score[0], s)
		}
		require.LessOrEqual(t, out.Margin, int64(0))
	})
}

// Moving all inputs by one vector moves Delta by it and changes nothing else. Elimination by norm
// is about the distance from 0, so it is different there.
func TestTranslation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, in := drawCase(t)
		if strings.HasSuffix(rule.Name(), "cge") {
			return
		}
		by := rapid.Int64Range(-100, 100).Draw(t, "by")
		low, high := in, in // in, scaled into a part of the range that leaves room
		low.Vectors, high.Vectors = nil, nil
		for _, v := range in.Vectors {
			a, b := gradients.NewVector(gradients.Int16, v.Len()), gradients.NewVector(gradients.Int16, v.Len())
			for k := range v.Len() {
				a.Set(k, v.At(k)/2)
				b.Set(k, v.At(k)/2+by*int64(k+1))
			}
			low.Vectors, high.Vectors = append(low.Vectors, a), append(high.Vectors, b)
		}
		x, err := rule.Aggregate(low)
		require.NoError(t, err)
		y, err := rule.Aggregate(high)
		require.NoError(t, err)
		for k := range x.Delta.Num {
			x.Delta.Num[k] += by * int64(k+1) * x.Delta.Den
		}
		require.Equal(t, x, y, "%s does not move with its gradients: a rule that need not is named above", rule.Name())
	})
}

// Participant order does not matter to the coordinate-wise rules, and to most others only where
// there are ties. Three depend on it by their nature: several sets may have the least diameter,
// whose value is the same though; the last run of Krum in Bulyan is always a tie for f <= 2; and
// buckets are put together by position.
func TestPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, in := drawCase(t)
		in.Floor = 0
		moved := in
		moved.Vectors = rapid.Permutation(in.Vectors).Draw(t, "permutation")
		x, err := rule.Aggregate(in)
		require.NoError(t, err)
		y, err := rule.Aggregate(moved)
		require.NoError(t, err)
		inner := strings.TrimPrefix(rule.Name(), "nnm+")
		switch {
		case slices.Contains([]string{"mean", "median", "trimmed-mean", "mean-around-median"}, rule.Name()):
			require.Equal(t, x.Delta, y.Delta)
		case strings.HasPrefix(rule.Name(), "bucketing+") || inner == "bulyan" && in.F > 0 || tied(in, x):
		case rule.Name() == "mda":
			require.Equal(t, leastScores(x), leastScores(y))
		case inner != "mda":
			require.Equal(t, x.Delta, y.Delta)
		}
	})
}

// leastScores is the largest score of those who were selected.
func leastScores(out Output) (most int64) {
	for _, i := range out.Selected {
		most = max(most, out.Score[i])
	}
	return most
}

// tied reports whether two distances or two scores are equal.
func tied(in Input, out Output) bool {
	var distances []int64
	for i, v := range in.Vectors {
		for _, w := range in.Vectors[:i] {
			distances = append(distances, gradients.SquaredDistance(v, w))
		}
	}
	for _, xs := range [][]int64{distances, slices.Clone(out.Score)} {
		slices.Sort(xs)
		if len(slices.Compact(xs)) < len(xs) {
			return true
		}
	}
	return false
}

// With f of N >= 2f+1 inputs arbitrary, median and trimmed mean stay between the least and the
// largest honest value.
func TestCoordinateWiseRulesStayAmongTheHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(0, 5).Draw(t, "f")
		n := rapid.IntRange(2*f+1, 2*f+6).Draw(t, "n")
		value := rapid.Int64Range(-127, 127)
		vs := make([]gradients.Vector, n)
		least, most := int64(127), int64(-127)
		for i := range vs {
			vs[i] = gradients.NewVector(gradients.Int8, 1)
			vs[i].Set(0, value.Draw(t, "value"))
			if i >= f {
				least, most = min(least, vs[i].At(0)), max(most, vs[i].At(0))
			}
		}
		for _, name := range []string{"median", "trimmed-mean"} {
			out, err := lookup(t, name).Aggregate(Input{N: n, F: f, Vectors: vs})
			require.NoError(t, err)
			require.LessOrEqual(t, least*out.Delta.Den, out.Delta.Num[0])
			require.GreaterOrEqual(t, most*out.Delta.Den, out.Delta.Num[0])
		}
	})
}
