package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// The presets of the project: epsilon 2 for four participants with 15,000 examples each, and the
// paper's prototype.
var (
	usual = privacy.Config{Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: 2.670, ExpectedBatch: 1500, Momentum: 0.9}
	paper = privacy.Config{Kind: privacy.Prototype, ExpectedBatch: 100, PrototypeEpsilon: 0.02}
	none  = privacy.Config{Kind: privacy.None, ExpectedBatch: 100}
)

func TestConfigAccepts(t *testing.T) {
	for _, c := range []privacy.Config{
		usual, paper, none,
		{Kind: privacy.None, ExpectedBatch: 100, Clip: 10, Momentum: 0.5},
		{Kind: privacy.Prototype, ExpectedBatch: 100, PrototypeEpsilon: 4, Clip: 10},
	} {
		require.NoError(t, c.Validate())
	}
}

func TestConfigErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		from  privacy.Config
		spoil func(*privacy.Config)
		want  string
	}{
		{usual, func(c *privacy.Config) { c.Kind = "laplace" }, `kind "laplace", want "gaussian", "prototype" or "none"`},
		{usual, func(c *privacy.Config) { c.Clip = 0 },
			`clip norm 0, want it positive for kind "gaussian": without it one example has no bound`},
		{usual, func(c *privacy.Config) { c.Clip = -1 }, "clip norm -1, want a finite number of at least 0"},
		{usual, func(c *privacy.Config) { c.Clip = nan }, "clip norm NaN, want a finite number of at least 0"},
		{usual, func(c *privacy.Config) { c.Clip = inf }, "clip norm +Inf, want a finite number of at least 0"},
		{usual, func(c *privacy.Config) { c.NoiseMultiplier = 0 },
			`noise multiplier 0, want a positive finite number for kind "gaussian"`},
		{usual, func(c *privacy.Config) { c.NoiseMultiplier = nan },
			`noise multiplier NaN, want a positive finite number for kind "gaussian"`},
		{usual, func(c *privacy.Config) { c.ExpectedBatch = 0 }, "expected batch 0, want a positive finite number"},
		{usual, func(c *privacy.Config) { c.ExpectedBatch = inf }, "expected batch +Inf, want a positive finite number"},
		{usual, func(c *privacy.Config) { c.Momentum = 1.1 }, "momentum 1.1, want within [0, 1]"},
		{usual, func(c *privacy.Config) { c.Momentum = -0.1 }, "momentum -0.1, want within [0, 1]"},
		{usual, func(c *privacy.Config) { c.Momentum = nan }, "momentum NaN, want within [0, 1]"},
		{usual, func(c *privacy.Config) { c.PrototypeEpsilon = 2 }, `prototype epsilon 2, want 0 for kind "gaussian"`},
		{paper, func(c *privacy.Config) { c.PrototypeEpsilon = 0 },
			`prototype epsilon 0, want a positive finite number for kind "prototype"`},
		{paper, func(c *privacy.Config) { c.NoiseMultiplier = 2 }, `noise multiplier 2, want 0 for kind "prototype"`},
		{none, func(c *privacy.Config) { c.NoiseMultiplier = nan }, `noise multiplier NaN, want 0 for kind "none"`},
		{
			usual, func(c *privacy.Config) { c.Clip, c.NoiseMultiplier = 1e300, 1e300 },
			"final noise +Inf from clip 1e+300, multiplier 1e+300, batch 1500 and momentum 0.9, want a positive finite number",
		},
	} {
		config := c.from
		c.spoil(&config)
		err := config.Validate()
		require.ErrorIs(t, err, privacy.ErrConfig)
		assert.EqualError(t, err, "privacy: bad config: "+c.want)
		_, err = privacy.New(config, gradients.Grid{Width: gradients.Int8, Step: 1}, 3, privacy.NewTestSource(1))
		require.ErrorIs(t, err, privacy.ErrConfig)
	}
}

func TestNewErrors(t *testing.T) {
	grid, src := gradients.Grid{Width: gradients.Int8, Step: 1}, privacy.NewTestSource(1)
	_, err := privacy.New(usual, grid, 0, src)
	assert.EqualError(t, err, "privacy: bad config: dimension 0, want 1 to 2097152")
	_, err = privacy.New(usual, grid, gradients.MaxDim+1, src)
	assert.EqualError(t, err, "privacy: bad config: dimension 2097153, want 1 to 2097152")
	_, err = privacy.New(usual, grid, 3, nil)
	assert.EqualError(t, err, "privacy: bad config: no random source")
	_, err = privacy.New(usual, gradients.Grid{Width: gradients.Int8}, 3, src)
	assert.ErrorIs(t, err, gradients.ErrStep)
}
