package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/privacy"
)

// sampleSize returns how many draws the tests of a distribution take.
func sampleSize() int { return stage.Pick(1<<17, 1<<18, 1<<20) }

func TestSecureSourceIsNormal(t *testing.T) {
	sample := make([]float64, sampleSize())
	privacy.NewSecureSource().Normal(sample)
	assertNormal(t, sample)
}

// As it is used: many short fills, some of odd length, each under its own key.
func TestSecureSourceIsNormalAcrossCalls(t *testing.T) {
	src := privacy.NewSecureSource()
	sample := make([]float64, 0, sampleSize())
	for len(sample)+4096 <= cap(sample) {
		n := len(sample) + len(sample)%4095 + 1
		src.Normal(sample[len(sample):n])
		sample = sample[:n]
	}
	assertDistribution(t, sample)
	product := 0.0
	for i := 1; i < len(sample); i++ {
		product += sample[i-1] * sample[i]
	}
	assert.LessOrEqual(t, math.Abs(product), lagBound(len(sample)-1))
}

func TestTestSourceIsNormal(t *testing.T) {
	for seed := range uint64(3) {
		sample := make([]float64, sampleSize())
		privacy.NewTestSource(seed).Normal(sample)
		assertNormal(t, sample)
	}
}

// Far tails need many draws: beyond 5.5 standard deviations one in 26 million.
func TestNormalTails(t *testing.T) {
	src, buffer := privacy.NewTestSource(1), make([]float64, 1<<16)
	rounds := stage.Pick(100, 100, 300)
	levels := []float64{3.5, 4, 4.5, 5, 5.5, 6}
	count := make([]int, len(levels))
	var tail []float64 // chances, given the first level, to be as far out
	for range rounds {
		src.Normal(buffer)
		for _, v := range buffer {
			if math.Abs(v) > levels[0] {
				tail = append(tail, unitNormal.Survival(math.Abs(v))/unitNormal.Survival(levels[0]))
			}
			for k, at := range levels {
				if math.Abs(v) > at {
					count[k]++
				}
			}
		}
	}
	for k, at := range levels {
		n, p := rounds*len(buffer), 2*unitNormal.Survival(at)
		assert.InDelta(t, float64(n)*p, float64(count[k]), binomialBound(n, p), "beyond %v", at)
	}
	assertUniform(t, tail) // about 9,000: the shape of the tail, beside its weight
}

// No 32-bit truncation: the last eight bits of the mantissa are as random as the first.
func TestNormalUsesAllBits(t *testing.T) {
	sample := make([]float64, sampleSize())
	privacy.NewTestSource(1).Normal(sample)
	var count [256]float64
	seen := make(map[float64]bool, len(sample))
	for _, v := range sample {
		count[math.Float64bits(v)&0xff]++
		seen[v] = true
	}
	assert.LessOrEqual(t, pearson(count[:], len(sample)), pearsonBound(len(count)))
	assert.Len(t, seen, len(sample), "a draw came twice")
}

func TestTestSourceIsDeterministic(t *testing.T) {
	draw := func(seed uint64) ([]float64, uint64) {
		src, sample := privacy.NewTestSource(seed), make([]float64, 9)
		src.Normal(sample)
		return sample, src.Uint64()
	}
	a, aWord := draw(1)
	b, bWord := draw(1)
	assert.Equal(t, a, b)
	assert.Equal(t, aWord, bWord)
	c, cWord := draw(2)
	assert.NotEqual(t, a, c)
	assert.NotEqual(t, aWord, cWord)
}

func TestPermit(t *testing.T) {
	assert.ErrorIs(t, privacy.NewTestSource(1).Permit(false), privacy.ErrTestSource)
	assert.NoError(t, privacy.NewTestSource(1).Permit(true))
	assert.NoError(t, privacy.NewSecureSource().Permit(false))
	assert.NoError(t, privacy.NewSecureSource().Permit(true))
}

// Test chains are reproducible across versions: the words of a seed do not change.
func TestTestSourceGolden(t *testing.T) {
	src := privacy.NewTestSource(1)
	assert.Equal(t, []uint64{0x556b82c2fd926f9e, 0x984f98d82c75a54c}, []uint64{src.Uint64(), src.Uint64()})
}

func TestSecureSourcesDiffer(t *testing.T) {
	a, b := privacy.NewSecureSource(), privacy.NewSecureSource()
	seen := map[uint64]bool{}
	const words = 200_000 // across several keys
	for range words {
		seen[a.Uint64()] = true
		seen[b.Uint64()] = true
	}
	assert.Len(t, seen, 2*words, "a word came twice") // by chance: 5e-9 * 2^-64
}
