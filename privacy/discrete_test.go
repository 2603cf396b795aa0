package privacy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/privacy"
)

func discrete(t testing.TB, num, den uint64) privacy.DiscreteGaussian {
	g, err := privacy.NewDiscreteGaussian(num, den)
	require.NoError(t, err)
	return g
}

// pmf is the exact distribution on [-reach, reach], up to float64: exp(-y²/(2*sigma²)) over its
// sum.
func pmf(num, den uint64) (chance []float64, reach int) {
	square := float64(num) / float64(den)
	reach = int(12*math.Sqrt(square)) + 3 // beyond is less than 1e-31
	sum := 0.0
	for y := -reach; y <= reach; y++ {
		p := math.Exp(-float64(y) * float64(y) / (2 * square))
		chance = append(chance, p)
		sum += p
	}
	for i := range chance {
		chance[i] /= sum
	}
	return chance, reach
}

// Canonne, Kamath and Steinke, definition 1, for sigma small and large, whole and not, below 1 and
// far below.
func TestDiscreteNormalHasTheExactDistribution(t *testing.T) {
	n := stage.Pick(1<<15, 1<<17, 1<<18)
	for i, c := range []struct{ num, den uint64 }{
		{1, 9}, {1, 3}, {1, 1}, {7, 2}, {100, 7}, {4096, 1}, {1 << 56, 1 << 54}, {1<<56 - 1, 1<<40 + 1}, {1, 1 << 56},
	} {
		t.Run(fmt.Sprintf("%d/%d", c.num, c.den), func(t *testing.T) {
			chance, reach := pmf(c.num, c.den)
			draws, count := make([]int64, n), make([]float64, len(chance))
			privacy.NewTestSource(uint64(i)).DiscreteNormal(draws, discrete(t, c.num, c.den))
			for _, y := range draws {
				if max(y, -y) > int64(reach) { // require would cost more than the draw
					t.Fatalf("drew %d, want at most %d from 0", y, reach)
				}
				count[int(y)+reach]++
			}
			assertPearson(t, chance, count, n)
		})
	}
}

// At the width that a mechanism uses, the lattice is too fine to tell from the reals, in any test
// of the normal distribution: distance 2^-27 standard deviations against a Kolmogorov-Smirnov bound
// of 3.5e-3.
func TestWideDiscreteNormalIsNormal(t *testing.T) {
	for _, src := range []*privacy.Source{privacy.NewTestSource(1), privacy.NewSecureSource()} {
		const sigma = 100_000_007
		draws, sample := make([]int64, sampleSize()), make([]float64, sampleSize())
		src.DiscreteNormal(draws, discrete(t, sigma*sigma, 1))
		var low [256]float64
		for i, y := range draws {
			sample[i] = float64(y) / sigma
			low[y&0xff]++
		}
		assertNormal(t, sample)
		assert.LessOrEqual(t, pearson(low[:], len(sample)), pearsonBound(len(low)), "the low bits are uniform")
	}
}

// Neighbours and draws further apart, as pairs: the chance of a pair is the product of its chances.
func TestDiscreteNormalDrawsAreIndependent(t *testing.T) {
	const n, reach = 1 << 19, 3
	chance, whole := pmf(1, 1)
	cell := func(y int64) int { return int(max(-reach, min(reach, y))) + reach }
	var cells [2*reach + 1]float64
	for i, p := range chance {
		cells[cell(int64(i-whole))] += p
	}
	var joint []float64
	for _, p := range cells {
		for _, q := range cells {
			joint = append(joint, p*q)
		}
	}
	draws := make([]int64, n)
	privacy.NewTestSource(2).DiscreteNormal(draws, discrete(t, 1, 1))
	for _, lag := range []int{1, 2, 64} {
		count, pairs := make([]float64, len(joint)), 0
		for i := 0; i+lag < n; i++ {
			if i/lag%2 == 0 { // no draw is in two pairs
				count[cell(draws[i])*len(cells)+cell(draws[i+lag])]++
				pairs++
			}
		}
		assertPearson(t, joint, count, pairs)
	}
}

// Moments, each within a bound by Bernstein's inequality or the limit of so large a sample.
func TestDiscreteNormalMoments(t *testing.T) {
	n := stage.Pick(1<<17, 1<<18, 1<<20)
	for _, c := range []struct{ num, den uint64 }{{1, 2}, {5, 1}, {1000, 1}} {
		chance, reach := pmf(c.num, c.den)
		second, fourth := 0.0, 0.0
		for i, p := range chance {
			square := float64((i - reach) * (i - reach))
			second, fourth = second+p*square, fourth+p*square*square
		}
		assert.LessOrEqual(t, second, float64(c.num)/float64(c.den)*(1+1e-12), "no more than sigma²")
		draws := make([]int64, n)
		privacy.NewTestSource(3).DiscreteNormal(draws, discrete(t, c.num, c.den))
		sum, square := 0.0, 0.0
		for _, y := range draws {
			sum += float64(y)
			square += float64(y * y)
		}
		deviations := unitNormal.Quantile(1 - falseFailure/2)
		assert.InDelta(t, 0, sum, deviations*math.Sqrt(float64(n)*second))
		assert.InDelta(t, float64(n)*second, square, deviations*math.Sqrt(float64(n)*(fourth-second*second)))
	}
}

// Algorithm 1: Bernoulli(exp(-gamma)).
func TestExp(t *testing.T) {
	const n = 1 << 17
	src := privacy.NewTestSource(4)
	check := func(name string, p float64, draw func() bool) {
		count := 0
		for range n {
			if draw() {
				count++
			}
		}
		assert.InDelta(t, n*p, count, binomialBound(n, p), name)
	}
	check("exp(-1)", math.Exp(-1), src.ExpOne)
	for _, c := range []struct{ a, b uint64 }{
		{0, 5}, {1, 5}, {4, 5}, {5, 5}, {1, 1 << 40}, {1 << 39, 1 << 40}, {1, 3}, {1<<63 - 1, 1 << 63},
	} {
		gamma := float64(c.a) / float64(c.b)
		check(fmt.Sprint("exp ", c), math.Exp(-gamma), func() bool { return src.Exp(c.a, c.b) })
		check(fmt.Sprint("wide ", c), math.Exp(-gamma), func() bool { return src.ExpWide(c.a, c.b) })
	}
	for _, c := range []struct{ a, b uint64 }{{3, 2}, {2, 1}, {7, 2}, {10, 3}} {
		check(fmt.Sprint("wide ", c), math.Exp(-float64(c.a)/float64(c.b)), func() bool { return src.ExpWide(c.a, c.b) })
	}
}

// Algorithm 2: exp(-|y|/t) * (1 - exp(-1/t))/(1 + exp(-1/t)).
func TestDiscreteLaplace(t *testing.T) {
	n := stage.Pick(1<<15, 1<<17, 1<<18)
	src := privacy.NewTestSource(5)
	for _, scale := range []uint64{1, 2, 5, 30} {
		reach := int(75 * scale)
		var chance []float64
		for y := -reach; y <= reach; y++ {
			chance = append(chance, math.Exp(-math.Abs(float64(y))/float64(scale))*math.Tanh(1/(2*float64(scale))))
		}
		count := make([]float64, len(chance))
		for range n {
			y, negative := src.Laplace(scale)
			require.False(t, y == 0 && negative)
			if negative {
				count[reach-int(y)]++
			} else {
				count[reach+int(y)]++
			}
		}
		assertPearson(t, chance, count, n)
	}
}

// Uniform on any interval, those too whose length is nowhere near a power of two: were no word
// drawn again, three quarters of 2^64 would show that every third number comes twice as often.
func TestBelow(t *testing.T) {
	const n = 1 << 17
	src := privacy.NewTestSource(6)
	for _, bound := range []uint64{1, 2, 3, 7, 100, 3 << 62, 1<<63 + 1, math.MaxUint64} {
		third := bound / 3
		var parts, residues [3]float64
		sizes := [3]float64{float64(third), float64(third), float64(bound - 2*third)}
		classes := [3]float64{float64(third + (bound%3+1)/2), float64(third + bound%3/2), float64(third)}
		for range n {
			v := src.Below(bound)
			if v >= bound { // require would cost more than the draw
				t.Fatalf("drew %d, want below %d", v, bound)
			}
			residues[v%3]++
			if v < 2*third {
				parts[v/third]++
			} else {
				parts[2]++
			}
		}
		for i := range 3 {
			sizes[i] /= float64(bound)
			classes[i] /= float64(bound)
		}
		assertPearson(t, sizes[:], parts[:], n)
		assertPearson(t, classes[:], residues[:], n)
	}
}

func TestDiscreteGaussianErrors(t *testing.T) {
	for _, c := range []struct{ num, den uint64 }{{0, 1}, {1, 0}, {1<<56 + 1, 1}, {1, 1<<56 + 1}} {
		_, err := privacy.NewDiscreteGaussian(c.num, c.den)
		require.ErrorIs(t, err, privacy.ErrConfig)
		assert.EqualError(t, err, fmt.Sprintf("privacy: bad config: discrete Gaussian of sigma² %d/%d, want both "+
			"numbers 1 to 2^56", c.num, c.den))
	}
}
