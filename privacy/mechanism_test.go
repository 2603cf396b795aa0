package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// fine is a grid so fine that rounding does not show in a statistic.
var fine = gradients.Grid{Width: gradients.Int16, Step: 1e-6}

func mechanism(t testing.TB, c privacy.Config, grid gradients.Grid, dim int,
	src privacy.NormalSource) *privacy.Mechanism {
	m, err := privacy.New(c, grid, dim, src)
	require.NoError(t, err)
	return m
}

// Without signal, what is submitted at release t is noise of variance s_t² = (z*C/B)²*v_t: the sum
// of squares over coordinates is chi-square in these units.
func TestNoiseFollowsTheVarianceFactor(t *testing.T) {
	const dim = 7850
	m := mechanism(t, usual, fine, dim, privacy.NewTestSource(7))
	zero := make([]float64, dim)
	for release := 1; release <= 60; release++ {
		_, report := m.Release(zero)
		std := privacy.SubmittedStd(usual, release)
		square := 0.0
		for _, v := range m.Snapshot().Momentum {
			square += v * v / (std * std)
		}
		assert.InDelta(t, dim, square, chiSquareBound(dim), "release %d", release)
		assert.InEpsilon(t, std, report.NoiseStd, 1e-12)
		assert.Equal(t, release, report.Release)
		assert.Zero(t, report.SignalNorm)
	}
}

// The noise itself, taken off the mechanism as it runs: normal, of the right size, independent
// between coordinates and between releases (which are a lag of 7,850 apart).
func TestNoiseIsNormalAndIndependent(t *testing.T) {
	const dim, releases = 7850, 134
	config := usual
	config.Momentum = 0
	m := mechanism(t, config, fine, dim, privacy.NewTestSource(8))
	sum := make([]float64, dim)
	for j := range sum {
		sum[j] = float64(j)
	}
	std := privacy.SubmittedStd(config, 1)
	var noise []float64
	for range releases {
		m.Release(sum)
		for j, v := range m.Snapshot().Momentum {
			noise = append(noise, (v-sum[j]/config.ExpectedBatch)/std)
		}
	}
	assertNormal(t, noise)
}

// The paper's prototype: 1e-6*‖g‖*sqrt(2 ln(1.25/1e-5))/epsilon on the batch mean.
func TestPrototypeNoise(t *testing.T) {
	const dim = 7850
	m := mechanism(t, paper, fine, dim, privacy.NewTestSource(9))
	sum := make([]float64, dim)
	sum[3] = 500 // batch mean of norm 5
	_, report := m.Release(sum)
	std := 1e-6 * 5 * math.Sqrt(2*math.Log(1.25/1e-5)) / 0.02
	assert.InEpsilon(t, std, report.NoiseStd, 1e-12)
	assert.InEpsilon(t, 5, report.SignalNorm, 1e-12)
	square := 0.0
	for j, v := range m.Snapshot().Momentum {
		d := (v - sum[j]/100) / std
		square += d * d
	}
	assert.InDelta(t, dim, square, chiSquareBound(dim))
}

// Its noise changes from release to release; momentum mixes the variances as it mixes the vectors.
func TestPrototypeNoiseWithMomentum(t *testing.T) {
	config := paper
	config.Momentum = 0.5
	m := mechanism(t, config, fine, 1, privacy.NewTestSource(9))
	_, first := m.Release([]float64{100})
	_, second := m.Release([]float64{300})
	perUnit := 1e-6 * math.Sqrt(2*math.Log(1.25/1e-5)) / 0.02
	assert.InEpsilon(t, perUnit/2, first.NoiseStd, 1e-12)
	assert.InEpsilon(t, perUnit*math.Sqrt(0.0625+9*0.25), second.NoiseStd, 1e-12)
}

func TestNoneIsMomentumAlone(t *testing.T) {
	config := privacy.Config{Kind: privacy.None, ExpectedBatch: 4, Momentum: 0.5}
	m := mechanism(t, config, gradients.Grid{Width: gradients.Int8, Step: 0.25}, 3, privacy.NewTestSource(1))
	sum := []float64{8, -4, 400}
	v, report := m.Release(sum)
	assert.Equal(t, []int8{4, -2, 127}, v.Int8s()) // (1-beta)*sum/B in steps: 4, -2, 200
	assert.Equal(t, privacy.Report{Release: 1, Saturated: 1, SignalNorm: math.Sqrt(4 + 1 + 10000)}, report)
	assert.Equal(t, []float64{8, -4, 400}, sum, "the sum is left alone")

	again, report := m.Release([]float64{0, 0, 0})
	assert.Equal(t, []int8{2, -1, 100}, again.Int8s())
	assert.Equal(t, privacy.Report{Release: 2}, report)
	assert.Equal(t, []int8{4, -2, 127}, v.Int8s(), "a vector that was handed out is not written again")
}

// At the default step a coordinate of pure noise saturates beyond 15.9 standard deviations: never.
func TestDefaultStep(t *testing.T) {
	grid := gradients.Grid{Width: gradients.Int8, Step: privacy.StepFor(usual)}
	m := mechanism(t, usual, grid, 1970, privacy.NewTestSource(10))
	for range 100 {
		v, report := m.Release(make([]float64, 1970))
		assert.Zero(t, report.Saturated)
		assert.Equal(t, gradients.Int8, v.Width())
		assert.Equal(t, 1970, v.Len())
	}
}

func TestTestSourceMakesReleasesReproducible(t *testing.T) {
	release := func(seed uint64) gradients.Vector {
		v, _ := mechanism(t, usual, fine, 50, privacy.NewTestSource(seed)).Release(make([]float64, 50))
		return v
	}
	assert.True(t, release(1).Equal(release(1)))
	assert.False(t, release(1).Equal(release(2)))
	secure, _ := mechanism(t, usual, fine, 50, privacy.NewSecureSource()).Release(make([]float64, 50))
	again, _ := mechanism(t, usual, fine, 50, privacy.NewSecureSource()).Release(make([]float64, 50))
	assert.False(t, secure.Equal(again))
}

func TestReleasePanics(t *testing.T) {
	m := mechanism(t, usual, fine, 2, privacy.NewTestSource(1))
	assert.PanicsWithValue(t, "privacy: sum of dimension 3, want 2", func() { m.Release(make([]float64, 3)) })
	assert.PanicsWithValue(t, "privacy: coordinate 1 of the sum is NaN, want a finite number",
		func() { m.Release([]float64{0, math.NaN()}) })
	assert.PanicsWithValue(t, "privacy: coordinate 0 of the sum is -Inf, want a finite number",
		func() { m.Release([]float64{math.Inf(-1), 0}) })
	assert.Zero(t, m.Snapshot().Releases, "nothing was released")
}
