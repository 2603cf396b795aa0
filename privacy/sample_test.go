package privacy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/privacy"
)

func TestSamplesAreSubsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := privacy.NewTestSource(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(0, 100).Draw(t, "n")
		b := rapid.IntRange(0, n).Draw(t, "b")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		fixed := privacy.FixedSample([]int{-1}, n, b, src)
		require.Len(t, fixed, 1+b)
		for _, sample := range [][]int{fixed, privacy.PoissonSample([]int{-1}, n, q, src)} {
			require.Equal(t, -1, sample[0], "appends")
			for i := 1; i < len(sample); i++ {
				require.Greater(t, sample[i], sample[i-1], "ascending, hence distinct")
				require.Less(t, sample[i], n)
			}
		}
	})
}

func TestSampleExtremes(t *testing.T) {
	src := privacy.NewTestSource(1)
	assert.Empty(t, privacy.PoissonSample(nil, 1000, 0, src))
	assert.Empty(t, privacy.PoissonSample(nil, 1000, 1e-300, src))
	assert.Empty(t, privacy.PoissonSample(nil, 0, 1, src))
	assert.Len(t, privacy.PoissonSample(nil, 1000, 1, src), 1000)
	assert.Empty(t, privacy.FixedSample(nil, 1000, 0, src))
	assert.Len(t, privacy.FixedSample(nil, 1000, 1000, src), 1000)
}

func TestSamplePanics(t *testing.T) {
	src := privacy.NewTestSource(1)
	for want, call := range map[string]func(){
		"privacy: sampling 10 examples at rate 1.5, want a rate in [0, 1]": func() {
			privacy.PoissonSample(nil, 10, 1.5,
				src)
		},
		"privacy: sampling 10 examples at rate -0.1, want a rate in [0, 1]": func() {
			privacy.PoissonSample(nil, 10, -0.1,
				src)
		},
		"privacy: sampling 10 examples at rate NaN, want a rate in [0, 1]": func() {
			privacy.PoissonSample(nil, 10,
				math.NaN(), src)
		},
		"privacy: sampling -1 examples at rate 0.5, want a rate in [0, 1]": func() {
			privacy.PoissonSample(nil, -1, 0.5,
				src)
		},
		"privacy: sampling 11 of 10 examples": func() { privacy.FixedSample(nil, 10, 11, src) },
		"privacy: sampling -1 of 10 examples": func() { privacy.FixedSample(nil, 10, -1, src) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
}

// Every index at rate q, whatever the others do. Counts of independent events are binomial.
func TestPoissonSampleRates(t *testing.T) {
	const n, trials, q = 1000, 1000, 0.1
	for name, src := range map[string]privacy.UniformSource{
		"secure": privacy.NewSecureSource(), "test": privacy.NewTestSource(1),
	} {
		total, first, last, pairs := 0, 0, 0, 0
		var sample []int
		for range trials {
			sample = privacy.PoissonSample(sample[:0], n, q, src)
			total += len(sample)
			for k, i := range sample {
				switch i {
				case 0:
					first++
				case n - 1:
					last++
				}
				if i%2 == 1 && k > 0 && sample[k-1] == i-1 {
					pairs++ // of neighbours 2j and 2j+1: disjoint, hence independent of each other
				}
			}
		}
		assert.InDelta(t, n*trials*q, total, binomialBound(n*trials, q), name)
		assert.InDelta(t, trials*q, first, binomialBound(trials, q), name)
		assert.InDelta(t, trials*q, last, binomialBound(trials, q), name)
		assert.InDelta(t, n/2*trials*q*q, pairs, binomialBound(n/2*trials, q*q), name)
	}
}

// All 20 subsets of three out of six, equally often.
func TestFixedSampleIsUniform(t *testing.T) {
	const trials = 100_000
	src := privacy.NewTestSource(1)
	index := map[int]int{}
	var count []float64
	var sample []int
	for range trials {
		sample = privacy.FixedSample(sample[:0], 6, 3, src)
		key := sample[0] + 6*sample[1] + 36*sample[2]
		if _, ok := index[key]; !ok {
			index[key] = len(count)
			count = append(count, 0)
		}
		count[index[key]]++
	}
	require.Len(t, count, 20)
	assert.LessOrEqual(t, pearson(count, trials), pearsonBound(20))
	assert.False(t, slices.Contains(count, 0))
}
