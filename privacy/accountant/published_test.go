package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func steps(q, z float64, rounds int) Step { return Step{Mechanism{q, z}, rounds} }

func epsilonOf(t testing.TB, method Method, delta float64, s ...Step) float64 {
	t.Helper()
	epsilon, err := Epsilon(method, delta, s...)
	require.NoError(t, err)
	return epsilon
}

func deltaOf(t testing.TB, method Method, epsilon float64, s ...Step) float64 {
	t.Helper()
	delta, err := Delta(method, epsilon, s...)
	require.NoError(t, err)
	return delta
}

func noiseOf(t testing.TB, method Method, q float64, rounds int, epsilon, delta float64) float64 {
	t.Helper()
	z, err := NoiseMultiplier(method, q, rounds, epsilon, delta)
	require.NoError(t, err)
	return z
}

// The noise multipliers that were measured with another implementation (in Python) before this
// Package was written, rounded as they were noted: sampling rate 1/30, delta 1e-6.
func TestMeasuredMultipliers(t *testing.T) {
	for _, tt := range []struct {
		rounds            int
		epsilon, rdp, pld float64
	}{
		{100, 0.5, 3.18, 2.96},
		{100, 1, 1.87, 1.75},
		{100, 4, 0.918, 0.861},
		{100, 8, 0.692, 0.653},
		{200, 2, 1.46, 1.38},
		{500, 1, 3.55, 3.31},
		{500, 4, 1.25, 1.19},
	} {
		t.Run(fmt.Sprintf("T=%d/epsilon=%v", tt.rounds, tt.epsilon), func(t *testing.T) {
			assert.InEpsilon(t, tt.rdp, noiseOf(t, RDP, 1./30, tt.rounds, tt.epsilon, 1e-6), 5e-3)
			assert.InEpsilon(t, tt.pld, noiseOf(t, PLD, 1./30, tt.rounds, tt.epsilon, 1e-6), 5e-3)
		})
	}
}

// The presets of the product: sampling rate 0.1, 100 rounds, delta 1e-6.
func TestPresets(t *testing.T) {
	for z, want := range map[float64]float64{39.7: 0.1, 8.9: 0.5, 4.78: 1, 2.670: 2, 1.603: 4, 1.06: 8} {
		assert.InEpsilon(t, want, epsilonOf(t, RDP, 1e-6, steps(0.1, z, 100)), 6e-3, "z=%v", z)
	}
	assert.LessOrEqual(t, epsilonOf(t, RDP, 1e-6, steps(0.1, 2.670, 100)), 2.0)
	assert.InDelta(t, 4.0, epsilonOf(t, RDP, 1e-6, steps(0.1, 1.603, 100)), 2e-3)
}

// tensorflow/privacy, tensorflow_privacy/privacy/analysis/rdp_accountant_test.py:
// test_compute_rdp_sequence (q 0.01, sigma 2.5, 50 steps, to 1e-5) and test_compute_rdp_scalar.
func TestTensorFlowPrivacyDivergences(t *testing.T) {
	for alpha, want := range map[float64]float64{1.5: 0.00065, 2.5: 0.001085, 5: 0.00218075, 50: 0.023846,
		100: 167.416307} {
		assert.InDelta(t, want, 50*logMoment(Mechanism{0.01, 2.5}, alpha)/(alpha-1), 1e-5, "alpha=%v", alpha)
	}
	assert.InDelta(t, 0.07737, 10*logMoment(Mechanism{0.1, 2}, 5)/4, 1e-5)
}

// Abadi et al., "Deep learning with differential privacy", 2016, section 5.1: q 0.01, sigma 4, 100
// epochs, delta 1e-5 give epsilon 1.26 by the moments accountant, which converts Rényi divergences
// of integer orders up to 32 in the older way. An earlier version of tensorflow/privacy's test has
// it to six digits, at order 20. Converted as here, it is less.
func TestMomentsAccountant(t *testing.T) {
	least, at := math.Inf(1), 0
	for alpha := 2; alpha <= 32; alpha++ {
		epsilon := (10000*logMoment(Mechanism{0.01, 4}, float64(alpha)) - math.Log(1e-5)) / float64(alpha-1)
		if epsilon < least {
			least, at = epsilon, alpha
		}
	}
	assert.InDelta(t, 1.258575, least, 1e-6)
	assert.Equal(t, 20, at)
	assert.InDelta(t, 1.0354, epsilonOf(t, RDP, 1e-5, steps(0.01, 4, 10000)), 1e-4, "from this package")
}

// tensorflow/privacy, test_get_privacy_spent_check_target_delta: sigma 4.530877117 is exactly (1,
// 1e-6)-private by RDP.
func TestTensorFlowPrivacyGaussian(t *testing.T) {
	assert.InDelta(t, 1, epsilonOf(t, RDP, 1e-6, steps(1, 4.530877117, 1)), 1e-6)
	assert.InEpsilon(t, 1e-6, deltaOf(t, RDP, 1, steps(1, 4.530877117, 1)), 1e-5)
}

// pytorch/opacus, opacus/tests/accountants_test.py: q 0.04, delta 1e-5. Its orders are coarser, so
// that its epsilon is a little larger; its noise is found to 1e-4.
func TestOpacus(t *testing.T) {
	epsilon := epsilonOf(t, RDP, 1e-5, steps(0.04, 1.5, 2250))
	assert.LessOrEqual(t, epsilon, 7.32911117143)
	assert.InDelta(t, 7.32911117143, epsilon, 1e-3)
	assert.InDelta(t, 1.416, noiseOf(t, RDP, 0.04, 2250, 8, 1e-5), 3e-4)
	assert.InDelta(t, 1.3562, noiseOf(t, RDP, 0.04, 2000, 8, 1e-5), 3e-4)
}

// google/differential-privacy, go/noise/gaussian_noise_test.go: delta of the Gaussian mechanism to
// 1e-10 (TestDeltaForGaussian), and the variances of the least noise for sensitivity 1
// (TestGaussianStatistics), as Balle and Wang compute them. Theirs is up to 0.1 % more than the
// least.
func TestAnalyticGaussian(t *testing.T) {
	ln3 := math.Log(3)
	assert.InDelta(t, 0.008751768145810, deltaOf(t, Analytic, 0.1, steps(1, 10, 1)), 1e-10)
	assert.InDelta(t, 0.004159742234000802, deltaOf(t, Analytic, ln3, steps(1, 2, 1)), 1e-10)
	assert.InDelta(t, 0.6826894921370859, deltaOf(t, Analytic, 0, steps(1, 0.5, 1)), 1e-10)
	assert.InDelta(t, 0.10985556344445052, deltaOf(t, Analytic, ln3, steps(1, 1, 1)), 1e-10)
	for _, tt := range []struct{ epsilon, delta, variance float64 }{
		{ln3, 1e-10, 28.76478576660},
		{2 * ln3, 1e-10, 7.65948867798},
		{ln3, 1e-5, 11.73597717285},
	} {
		z := noiseOf(t, Analytic, 1, 1, tt.epsilon, tt.delta)
		assert.InEpsilon(t, math.Sqrt(tt.variance), z, 1e-3, "%+v", tt)
		assert.LessOrEqual(t, z, math.Sqrt(tt.variance)*(1+noisePrecision), "%+v", tt)
	}
	// The same of three rounds with sqrt(3) times the noise (dp_accounting's PLD
	// test_gaussian_basic has 0.126936).
	assert.InDelta(t, 0.126936, deltaOf(t, Analytic, 1, steps(1, math.Sqrt(3), 3)), 1e-6)
}

// google/differential-privacy, python/dp_accounting/.../pld_privacy_accountant_test.py,
// test_poisson_subsampled_gaussian: three rounds of q 0.2 and sigma 0.5 have delta 0.15594 at
// epsilon 1.
func TestGooglePLD(t *testing.T) {
	assert.InDelta(t, 0.15594, deltaOf(t, PLD, 1, steps(0.2, 0.5, 3)), 5e-6)
	assert.InDelta(t, 1, epsilonOf(t, PLD, 0.15594, steps(0.2, 0.5, 3)), 1e-3)
	assert.InDelta(t, 0.15594, deltaOf(t, PLD, 1, steps(0.2, 0.5, 1), steps(0.2, 0.5, 2)), 5e-6)
}
