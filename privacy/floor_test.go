package privacy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/floor"
)

// setting is the default preset's for N=4.
func setting() (privacy.Config, floor.Noise) {
	c := privacy.Config{Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: 2.67, ExpectedBatch: 1500, Momentum: 0.9}
	return c, floor.Noise{
		Std: c.NoiseMultiplier * c.Clip / c.ExpectedBatch, Momentum: c.Momentum, Signal: c.Clip +
			8*c.Clip/math.Sqrt(c.ExpectedBatch),
		Step: privacy.StepFor(c), Dim: 1970,
	}
}

// TestHonestIsNeverRefused: over 10^5 rounds no vector of the mechanism is
// outside the bounds, from one whose batch says nothing (where a vector is
// shortest) to one of the longest batch mean there is. The chance of a refusal is
// below 3e-7 a round where there is no signal, and nil where there is.
func TestHonestIsNeverRefused(t *testing.T) {
	rounds := stage.Pick(2000, 10_000, 100_000)
	for _, momentum := range []float64{0.9, 1} {
		t.Run(fmt.Sprint(momentum), func(t *testing.T) { checkHonest(t, momentum, rounds) })
	}
}

func checkHonest(t *testing.T, momentum float64, rounds int) {
	c, noise := setting()
	c.Momentum, noise.Momentum = momentum, momentum
	noise.Step = privacy.StepFor(c)
	source := privacy.NewTestSource(11)
	grid := gradients.Grid{Width: gradients.Int16, Step: noise.Step}
	var lowest, highest float64 = math.Inf(1), 0
	for _, norm := range []float64{0, 0.01, 0.3, noise.Signal} {
		sum := make([]float64, noise.Dim)
		for i := range sum {
			sum[i] = norm * c.ExpectedBatch / math.Sqrt(float64(noise.Dim))
		}
		for made := 0; made < rounds/4; {
			m, err := privacy.New(c, grid, noise.Dim, source)
			require.NoError(t, err)
			for age := 1; age <= 100; age++ {
				v, _ := m.Release(sum)
				made++
				least, greatest := noise.Bounds(age, age)
				got := v.SquaredNorm()
				require.LessOrEqual(t, least, got, "age %d, signal %g", age, norm)
				require.LessOrEqual(t, got, greatest, "age %d, signal %g", age, norm)
				lowest, highest = min(lowest, float64(got)/float64(least)), max(highest, float64(got)/float64(greatest))
				wider, longer := noise.Bounds(max(1, age-5), age+5) // that of one of fewer included vectors in more rounds
				require.LessOrEqual(t, wider, least)
				require.GreaterOrEqual(t, longer, greatest)
			}
		}
	}
	t.Logf("%d rounds: squared norms between %.3f of the least and %.3f of the greatest", rounds, lowest, highest)
}

// TestNoiseFreeIsRefused: no vector without noise of a norm below 0.9 of the
// expected one passes, and nothing longer than signal and noise together.
func TestNoiseFreeIsRefused(t *testing.T) {
	_, noise := setting()
	for age := 1; age < 200; age++ {
		least, greatest := noise.Bounds(age, age)
		expected := noise.Std * math.Sqrt(floor.VarianceFactor(noise.Momentum, age)*float64(noise.Dim)) / noise.Step
		require.Greater(t, float64(least), 0.8*expected*expected)
		require.Less(t, float64(least), expected*expected)
		require.Greater(t, float64(greatest), expected*expected)
		require.Less(t, noise.Distance(age), int64(2*expected*expected))
		require.Positive(t, noise.Distance(age))
	}
	require.Zero(t, noise.Distance(0))
}

// TestTinyDimension: with few coordinates there is no lower bound that honest
// vectors always keep, and no overflow with absurd ones.
func TestTinyDimension(t *testing.T) {
	_, noise := setting()
	noise.Dim = 8
	least, greatest := noise.Bounds(1, 1)
	require.Zero(t, least)
	require.Positive(t, greatest)
	noise.Step = 1e-300
	_, greatest = noise.Bounds(1, 1)
	require.Equal(t, int64(1<<62), greatest)
}

// TestAbsurdStep: what int64 cannot hold is one number on every CPU, whichever it
// makes of it by itself.
func TestAbsurdStep(t *testing.T) {
	for _, dim := range []int{8, 1970} {
		for _, step := range []float64{1e-13, 1e-300, 5e-324} {
			_, noise := setting()
			noise.Dim, noise.Step = dim, step
			least, greatest := noise.Bounds(5, 5)
			require.Equal(t, int64(1<<62), greatest)
			require.Equal(t, int64(1<<62), noise.Distance(5))
			if dim > 8 || step < 1e-300 { // else a margin of all of it leaves 0, and of infinity no number
				require.Equal(t, int64(1<<62), least)
			} else {
				require.Zero(t, least)
			}
		}
	}
}
