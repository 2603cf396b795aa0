package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/privacy"
)

// DESIGN: "v_t = (1-beta)(1-beta^(2t))/(1+beta)", and momentum 0.9 divides the noise by 4.4.
func TestVarianceFactor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beta := rapid.Float64Range(0, 0.999).Draw(t, "beta")
		n := rapid.IntRange(1, 5000).Draw(t, "t")
		want := (1 - beta) * (1 - math.Pow(beta, 2*float64(n))) / (1 + beta)
		require.InEpsilon(t, want, privacy.VarianceFactor(beta, n), 1e-11)
	})
	assert.InDelta(t, 4.4, 1/math.Sqrt(privacy.VarianceFactor(0.9, 1000)), 0.05)
}

// Not the formula but what it stands for: variance v -> beta²v + (1-beta)², from 0.
func TestVarianceFactorRecursion(t *testing.T) {
	for _, beta := range []float64{0, 0.5, 0.9, 0.99, 1 - 1e-9} {
		v := 0.0
		assert.Zero(t, privacy.VarianceFactor(beta, 0))
		assert.Zero(t, privacy.VarianceFactor(beta, -3))
		for n := 1; n <= 300; n++ {
			v = beta*beta*v + (1-beta)*(1-beta)
			assert.InEpsilon(t, v, privacy.VarianceFactor(beta, n), 1e-12, "beta %v, t %d", beta, n)
		}
	}
}

func TestVarianceFactorLimits(t *testing.T) {
	assert.Equal(t, 1.0, privacy.VarianceFactor(0, 1))
	assert.Equal(t, 1.0, privacy.VarianceFactor(0, math.MaxInt))
	assert.Equal(t, 12345.0, privacy.VarianceFactor(1, 12345), "a sum's")
	assert.InEpsilon(t, 0.01, privacy.VarianceFactor(0.9, 1), 1e-15)
	assert.InEpsilon(t, 0.1/1.9, privacy.VarianceFactor(0.9, math.MaxInt), 1e-14)
}

// Golden bits: admission bounds derive from these numbers on every validator, whatever its machine.
// Computed once on amd64; the arithmetic is IEEE 754's basic operations only.
func TestVarianceIsPortable(t *testing.T) {
	for n, want := range map[int]uint64{
		1:     0x3f847ae147ae1478,
		2:     0x3f9288ce703afb7c,
		7:     0x3fa4c85d6170caab,
		100:   0x3faaf286bc5007b3,
		12345: 0x3faaf286bca1af28,
	} {
		got := math.Float64bits(privacy.VarianceFactor(0.9, n))
		assert.Equal(t, want, got, "t %d: %#x", n, got)
	}
}

func TestStandardDeviations(t *testing.T) {
	assert.InEpsilon(t, 2.670/1500*0.1, privacy.SubmittedStd(usual, 1), 1e-12)
	assert.InEpsilon(t, 2.670/1500*math.Sqrt(0.1/1.9), privacy.FinalStd(usual), 1e-12)
	assert.InEpsilon(t, privacy.FinalStd(usual), privacy.SubmittedStd(usual, 500), 1e-12)
	assert.Equal(t, privacy.FinalStd(usual)/8, privacy.StepFor(usual))
	for _, c := range []privacy.Config{paper, none} {
		assert.Zero(t, privacy.SubmittedStd(c, 9))
		assert.Zero(t, privacy.FinalStd(c))
		assert.Zero(t, privacy.StepFor(c))
	}
}
