package rules

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
)

// What f of n >= 2f+1 arbitrary gradients cannot do, rule by rule. The first f of the input are the
// Byzantine ones.

// drawHonest draws n >= least(f) gradients of which the first f are at the extremes, copies of
// honest ones, or anything.
func drawHonest(t *rapid.T, least func(f int) int) (in Input, honest []gradients.Vector) {
	r := splitmix64(rapid.Uint64().Draw(t, "seed"))
	in.F = rapid.IntRange(0, 3).Draw(t, "f")
	in.N = least(in.F) + rapid.IntRange(0, 4).Draw(t, "more")
	d := rapid.IntRange(1, 4).Draw(t, "d")
	in.Vectors = generate(gradients.Int8, in.N, d, spreads[r.below(4)], r.next())
	for i := range in.F {
		switch v := in.Vectors[i]; r.below(3) {
		case 0:
			in.Vectors[i] = in.Vectors[in.F+r.below(in.N-in.F)]
		default:
			for k := range d {
				v.Set(k, 127-254*int64(r.below(2)))
			}
		}
	}
	return in, in.Vectors[in.F:]
}

func distanceTo(delta gradients.Fraction, x []float64) float64 {
	var sum float64
	for j, num := range delta.Num {
		gap := float64(num)/float64(delta.Den) - x[j]
		sum += gap * gap
	}
	return math.Sqrt(sum)
}

func floats(v gradients.Vector) []float64 {
	x := make([]float64, v.Len())
	for j := range x {
		x[j] = float64(v.At(j))
	}
	return x
}

func aggregateOf(t require.TestingT, name string, in Input) Output {
	out, err := lookup(t, name).Aggregate(in)
	require.NoError(t, err)
	return out
}

// Mean-around-median and Bulyan may leave the range of the honest values: of 0, 1 and a Byzantine
// -0.4 the two nearest to the median are 0 and -0.4. But never farther from the median than the
// farthest honest value is, for there are at least as many honest values as are taken.
func TestValuesAroundTheMedianStayNearIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return 2*f + 1 })
		median := aggregateOf(t, "median", in).Delta
		out := aggregateOf(t, "mean-around-median", in).Delta
		for j, num := range out.Num {
			var far int64 // times the median's denominator
			for _, v := range honest {
				gap := v.At(j)*median.Den - median.Num[j]
				far = max(far, gap, -gap)
			}
			gap := num*median.Den - median.Num[j]*out.Den
			require.LessOrEqual(t, max(gap, -gap), far*out.Den)
		}
	})
}

func TestMeanAroundMedianCanLeaveTheHonestRange(t *testing.T) {
	out := aggregateOf(t, "mean-around-median", Input{N: 3, F: 1, Vectors: []gradients.Vector{
		gradients.FromInt8([]int8{0}), gradients.FromInt8([]int8{10}), gradients.FromInt8([]int8{-4}),
	}})
	require.Equal(t, gradients.Fraction{Num: []int64{-4}, Den: 2}, out.Delta)
}

// Bulyan stays within the diameter of the honest values of each coordinate.
func TestBulyanStaysNearTheHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return 4*f + 3 })
		out := aggregateOf(t, "bulyan", in).Delta
		for j, num := range out.Num {
			least, most := int64(127), int64(-127)
			for _, v := range honest {
				least, most = min(least, v.At(j)), max(most, v.At(j))
			}
			require.LessOrEqual(t, (2*least-most)*out.Den, num)
			require.GreaterOrEqual(t, (2*most-least)*out.Den, num)
		}
	})
}

// The set of least diameter holds an honest gradient, and is no wider than the honest ones are.
func TestMinimumDiameterStaysNearTheHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return 2*f + 1 })
		var diameter int64
		for i, v := range honest {
			for _, w := range honest[:i] {
				diameter = max(diameter, gradients.SquaredDistance(v, w))
			}
		}
		out := aggregateOf(t, "mda", in)
		for _, i := range out.Selected {
			require.LessOrEqual(t, out.Score[i], diameter)
		}
		nearest := math.Inf(1)
		for _, v := range honest {
			nearest = min(nearest, distanceTo(out.Delta, floats(v)))
		}
		require.LessOrEqual(t, nearest, math.Sqrt(float64(diameter))+1e-9)
	})
}

// What is left has norms that honest gradients have.
func TestEliminationBoundsTheNorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return f + 1 })
		var largest int64
		for _, v := range honest {
			largest = max(largest, v.SquaredNorm())
		}
		out := aggregateOf(t, "cge", in)
		for _, i := range out.Selected {
			require.LessOrEqual(t, out.Score[i], largest)
		}
		require.LessOrEqual(t, distanceTo(out.Delta, make([]float64, len(out.Delta.Num))), math.Sqrt(float64(largest))+1e-9)
	})
}

// For any c and honest gradients within rho of it the geometric median is within 2(n-f)/(n-2f) rho
// of c (Lopuhaa and Rousseeuw 1991; Pillutla et al., lemma 2). With N >= 3f+1, 32 steps leave
// nothing of the start at a distance of 127.
func TestGeometricMedianStaysNearTheHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return 3*f + 1 })
		out := aggregateOf(t, "geometric-median", in)
		c := floats(honest[0])
		var rho float64
		for _, v := range honest {
			rho = max(rho, distanceTo(gradients.Mean([]gradients.Vector{v}), c))
		}
		n, f := float64(in.N), float64(in.F)
		// Smoothing and rounding: the sum of distances is at most n/2 + 0.01 above its minimum.
		require.LessOrEqual(t, distanceTo(out.Delta, c), (2*(n-f)*rho+n/2+0.01)/(n-2*f)+1)
	})
}

// Ten steps of length tau at most, where some honest gradient is as far from the median as tau.
func TestCenteredClippingStaysNearTheMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, honest := drawHonest(t, func(f int) int { return 2*f + 1 })
		median := aggregateOf(t, "median", in).Delta
		start := make([]float64, len(median.Num))
		for j, num := range median.Num {
			start[j] = float64(num) / float64(median.Den)
		}
		var farthest float64
		for _, v := range honest {
			farthest = max(farthest, distanceTo(gradients.Mean([]gradients.Vector{v}), start))
		}
		require.LessOrEqual(t, distanceTo(aggregateOf(t, "centered-clipping", in).Delta, start), 10*farthest+0.01)
	})
}
