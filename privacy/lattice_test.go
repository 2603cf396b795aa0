package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// exact returns usual, the preset, with discrete noise.
func exact() privacy.Config {
	c := usual
	c.Discrete = true
	return c
}

// As in TestNoiseFollowsTheVarianceFactor.
func TestDiscreteNoiseFollowsTheVarianceFactor(t *testing.T) {
	const dim = 7850
	m := mechanism(t, exact(), fine, dim, privacy.NewTestSource(7))
	zero := make([]float64, dim)
	for release := 1; release <= 30; release++ {
		_, report := m.Release(zero)
		std := privacy.SubmittedStd(exact(), release)
		square := 0.0
		for _, v := range m.Snapshot().Momentum {
			square += v * v / (std * std)
		}
		assert.InDelta(t, dim, square, chiSquareBound(dim), "release %d", release)
		assert.GreaterOrEqual(t, report.NoiseStd, std*(1-1e-14))
		assert.InEpsilon(t, std, report.NoiseStd, 2.8e-6)
	}
}

// As in TestNoiseIsNormalAndIndependent.
func TestDiscreteNoiseIsNormalAndIndependent(t *testing.T) {
	const dim, releases = 7850, 134
	config := exact()
	config.Momentum = 0
	m := mechanism(t, config, fine, dim, privacy.NewTestSource(8))
	sum := make([]float64, dim)
	for j := range sum {
		sum[j] = float64(j)
	}
	var noise []float64
	for range releases {
		_, report := m.Release(sum)
		for j, v := range m.Snapshot().Momentum {
			noise = append(noise, (v-sum[j]/config.ExpectedBatch)/report.NoiseStd)
		}
	}
	assertNormal(t, noise)
}

// silence draws nothing, to see what the noise is added to, and keeps what was asked for.
type silence struct{ asked privacy.DiscreteGaussian }

func (*silence) Normal([]float64)                                       {}
func (s *silence) DiscreteNormal(_ []int64, g privacy.DiscreteGaussian) { s.asked = g }

// lattice draws a mechanism's parameters; with B = 1 and no momentum, its momentum is the rounded
// sum.
func lattice(t *rapid.T) (c privacy.Config, step float64) {
	c = privacy.Config{
		Kind: privacy.Gaussian, Discrete: true, ExpectedBatch: 1,
		Clip:            rapid.Float64Range(1e-3, 1e3).Draw(t, "clip"),
		NoiseMultiplier: rapid.Float64Range(0.1, 100).Draw(t, "multiplier"),
	}
	_, exponent := math.Frexp(c.Clip * c.NoiseMultiplier)
	return c, math.Ldexp(1, exponent-27)
}

// One example moves the rounded sum by C + h*sqrt(d) at most, and the noise is z times that or
// more, yet hardly more than z*C.
func TestLatticeKeepsTheSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, step := lattice(t)
		dim := rapid.IntRange(1, 50).Draw(t, "dim")
		src := &silence{}
		release := func(sum []float64) ([]float64, float64) {
			m, err := privacy.New(c, fine, dim, src)
			require.NoError(t, err)
			_, report := m.Release(sum)
			return m.Snapshot().Momentum, report.NoiseStd
		}
		coordinate := rapid.Float64Range(-1e3, 1e3)
		sum := rapid.SliceOfN(coordinate, dim, dim).Draw(t, "sum")
		one := rapid.SliceOfN(rapid.Float64Range(-1, 1), dim, dim).Draw(t, "one")
		norm := 0.0
		for _, v := range one {
			norm += v * v
		}
		neighbour := make([]float64, dim)
		for j, v := range one {
			neighbour[j] = sum[j] + v*privacy.ClipScale(math.Sqrt(norm)*1e6, c.Clip*1e6*(1-1e-9))
		}
		before, std := release(sum)
		after, _ := release(neighbour)
		moved := 0.0
		for j := range before {
			steps := before[j] / step
			require.Equal(t, math.Trunc(steps), steps, "on the lattice")
			require.LessOrEqual(t, math.Abs(before[j]-sum[j]), step/2)
			moved += (after[j] - before[j]) * (after[j] - before[j])
		}
		influence := c.Clip + step*math.Sqrt(float64(dim))
		require.LessOrEqual(t, math.Sqrt(moved), influence)
		require.GreaterOrEqual(t, std, c.NoiseMultiplier*influence)
		require.LessOrEqual(t, std, c.NoiseMultiplier*c.Clip*(1+c.NoiseMultiplier*math.Sqrt(float64(dim))*0x1p-26+0x1p-25))
		sigma := uint64(std / step)
		want, err := privacy.NewDiscreteGaussian(sigma*sigma, 1)
		require.NoError(t, err)
		require.Equal(t, want, src.asked)
	})
}

// A sum that is out of an int64's reach is cut off, at 2^62 steps.
func TestLatticeCutsOff(t *testing.T) {
	c := privacy.Config{Kind: privacy.Gaussian, Discrete: true, ExpectedBatch: 1, Clip: 1, NoiseMultiplier: 1}
	m := mechanism(t, c, fine, 3, &silence{})
	m.Release([]float64{1e150, -1e150, 1})
	assert.Equal(t, []float64{0x1p36, -0x1p36, 1}, m.Snapshot().Momentum)
}

func TestDiscreteReleasesAreReproducible(t *testing.T) {
	release := func(src *privacy.Source) gradients.Vector {
		v, _ := mechanism(t, exact(), fine, 50, src).Release(make([]float64, 50))
		return v
	}
	assert.True(t, release(privacy.NewTestSource(1)).Equal(release(privacy.NewTestSource(1))))
	assert.False(t, release(privacy.NewSecureSource()).Equal(release(privacy.NewSecureSource())))
}

// No float takes part in a draw: the integers of a seed are the same on every machine.
func TestDiscreteNormalGolden(t *testing.T) {
	draws := make([]int64, 6)
	privacy.NewTestSource(1).DiscreteNormal(draws, discrete(t, 1<<53+1, 1))
	assert.Equal(t, []int64{31667538, -42144301, -94747339, -21475883, 146475867, -109196800}, draws)
	privacy.NewTestSource(1).DiscreteNormal(draws, discrete(t, 50, 7))
	assert.Equal(t, []int64{1, -1, -7, 2, 4, 4}, draws)
}

func TestDiscreteErrors(t *testing.T) {
	for _, c := range []privacy.Config{paper, none} {
		c.Discrete = true
		assert.EqualError(t, c.Validate(), `privacy: bad config: discrete noise, want none for kind "`+string(c.Kind)+`"`)
	}
	_, err := privacy.New(exact(), fine, 3, normalOnly{})
	require.ErrorIs(t, err, privacy.ErrConfig)
	assert.EqualError(t, err, "privacy: bad config: random source privacy_test.normalOnly has no discrete noise")
	for _, spoil := range []func(*privacy.Config){
		func(c *privacy.Config) { c.Clip = 1e-300 },
		func(c *privacy.Config) { c.Clip = 1e303 },
		func(c *privacy.Config) { c.NoiseMultiplier = 1e9 },
		func(c *privacy.Config) { c.Clip, c.NoiseMultiplier = 1e300, 1e-300 },
	} {
		config := exact()
		spoil(&config)
		require.NoError(t, config.Validate())
		_, err := privacy.New(config, fine, 7850, privacy.NewTestSource(1))
		if config.NoiseMultiplier == 1e-300 { // odd, but all is in range
			assert.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, privacy.ErrConfig)
		assert.ErrorContains(t, err, "privacy: bad config: discrete noise for clip ")
	}
}

type normalOnly struct{}

func (normalOnly) Normal([]float64) {}
