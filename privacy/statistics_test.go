package privacy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
)

// The statistical tests of this package compare an observation with a bound that an honest source
// exceeds with probability at most falseFailure, by an inequality that holds for every sample size,
// or by an exact distribution. Fewer than 90 such comparisons draw fresh randomness in one run of
// the tests, so that a run fails by chance with probability below 1e-9. Tests on a TestSource
// always draw the same, and pass always or never: there it is the chance that a sound generator had
// to fail when the seed was chosen.
const falseFailure = 1e-11

var (
	unitNormal = distuv.UnitNormal
	// decay is the exponent x of the tail bounds: a two-sided bound 2*exp(-x) equals falseFailure.
	decay = math.Log(2 / falseFailure)
)

// ksBound bounds the largest distance between an empirical distribution of n draws and the true
// one: P(D > d) is at most 2*exp(-2nd²) (Dvoretzky, Kiefer and Wolfowitz; constant by Massart,
// 1990).
func ksBound(n int) float64 { return math.Sqrt(decay / (2 * float64(n))) }

// chiSquareBound bounds |Σ z_i² - n| over n independent normals: 2*sqrt(n*x) + 2x on either side
// (Laurent and Massart, 2000, lemma 1).
func chiSquareBound(n int) float64 { return 2*math.Sqrt(float64(n)*decay) + 2*decay }

// lagBound bounds |Σ z_i*z_(i+k)| over n products of independent normals. The sum is a quadratic
// form whose matrix has squared Frobenius norm n/2 and spectral norm at most 1; its diagonal form
// obeys the same lemma.
func lagBound(n int) float64 { return 2*math.Sqrt(float64(n)/2*decay) + 2*decay }

// binomialBound bounds |X - n*p| for X ~ Binomial(n, p): t with t² = 2x(np(1-p) + t/3) (Bernstein).
func binomialBound(n int, p float64) float64 {
	a := decay / 3
	return a + math.Sqrt(a*a+2*decay*float64(n)*p*(1-p))
}

// assertNormal holds a sample against N(0, 1) in every way that a faulty generator might fail.
func assertNormal(t *testing.T, sample []float64) {
	t.Helper()
	n := len(sample)
	assertDistribution(t, sample)
	assertCells(t, sample)

	sum, square := 0.0, 0.0
	for _, v := range sample {
		sum += v
		square += v * v
	}
	assert.LessOrEqual(t, math.Abs(sum), unitNormal.Quantile(1-falseFailure/2)*math.Sqrt(float64(n)), "mean")
	assert.LessOrEqual(t, math.Abs(square-float64(n)), chiSquareBound(n), "variance")

	// Neighbours, the other half of a pair, and a gradient's length apart. A radius shared by both
	// would not show in their correlation, but in how often both are large.
	for _, lag := range []int{1, 2, 3, 4, 7850} {
		product, large := 0.0, 0
		for i := lag; i < n; i++ {
			product += sample[i-lag] * sample[i]
			if math.Abs(sample[i-lag]) > 1 && math.Abs(sample[i]) > 1 {
				large++
			}
		}
		assert.LessOrEqual(t, math.Abs(product), lagBound(n-lag), "correlation at lag %d", lag)
		// Pairs that overlap are dependent: split into two families of disjoint pairs, each within
		// its bound.
		p := math.Pow(2*unitNormal.Survival(1), 2)
		assert.InDelta(t, float64(n-lag)*p, float64(large), 2*binomialBound((n-lag+1)/2+lag, p), "large pairs at lag %d", lag)
	}

	// Tails, each side alone.
	for _, at := range []float64{2, 3, 4, 4.5, 5} {
		above, below := 0, 0
		for _, v := range sample {
			if v > at {
				above++
			}
			if v < -at {
				below++
			}
		}
		p := unitNormal.Survival(at)
		assert.InDelta(t, float64(n)*p, float64(above), binomialBound(n, p), "above %v", at)
		assert.InDelta(t, float64(n)*p, float64(below), binomialBound(n, p), "below -%v", at)
	}
}

// assertDistribution is the Kolmogorov-Smirnov test.
func assertDistribution(t *testing.T, sample []float64) {
	t.Helper()
	uniform := make([]float64, len(sample))
	for i, v := range sample {
		uniform[i] = unitNormal.CDF(v)
	}
	assertUniform(t, uniform)
}

// assertUniform is the Kolmogorov-Smirnov test for the uniform distribution on [0, 1].
func assertUniform(t *testing.T, sample []float64) {
	t.Helper()
	n := float64(len(sample))
	sorted := slices.Clone(sample)
	slices.Sort(sorted)
	distance := 0.0
	for i, cdf := range sorted {
		distance = max(distance, cdf-float64(i)/n, float64(i+1)/n-cdf)
	}
	assert.LessOrEqual(t, distance, ksBound(len(sample)), "Kolmogorov-Smirnov distance")
}

// assertCells is Pearson's chi-square test on 100 cells of equal probability. Its statistic is
// chi-square only in the limit; with 10,000 draws in each cell that is close enough, far out as the
// bound is.
func assertCells(t *testing.T, sample []float64) {
	t.Helper()
	var count [100]float64
	for _, v := range sample {
		count[min(int(100*unitNormal.CDF(v)), 99)]++
	}
	assert.LessOrEqual(t, pearson(count[:], len(sample)), pearsonBound(len(count)), "chi-square")
}

// pearson is Σ (count - expected)²/expected for equally likely cells.
func pearson(count []float64, n int) float64 {
	expected, statistic := float64(n)/float64(len(count)), 0.0
	for _, c := range count {
		statistic += (c - expected) * (c - expected) / expected
	}
	return statistic
}

// assertPearson is Pearson's chi-square test on cells of given chances that sum to 1; of too small
// a chance, they are taken together.
func assertPearson(t *testing.T, chance, count []float64, n int) {
	t.Helper()
	cells, statistic, restChance, restCount := 0, 0.0, 0.0, 0.0
	add := func(p, c float64) {
		expected := p * float64(n)
		statistic += (c - expected) * (c - expected) / expected
		cells++
	}
	for i, p := range chance {
		if p*float64(n) < 100 {
			restChance, restCount = restChance+p, restCount+count[i]
		} else {
			add(p, count[i])
		}
	}
	if restChance*float64(n) < 100 { // too few for a cell
		assert.InDelta(t, restChance*float64(n), restCount, binomialBound(n, restChance), "rare cells")
	} else {
		add(restChance, restCount)
	}
	if cells == 1 { // which has no freedom: the rare cells say it all
		return
	}
	assert.LessOrEqual(t, statistic, pearsonBound(cells), "chi-square of %d cells", cells)
}

func pearsonBound(cells int) float64 {
	return distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1 - falseFailure)
}
