package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/privacy"
)

func TestClipScale(t *testing.T) {
	for _, c := range []struct{ norm, clip, want float64 }{
		{0.5, 1, 1},
		{1 - 0x1p-12, 1, 1},
		{1, 1, 1 - 0x1p-12},
		{4, 1, 0.25 - 0x1p-14},
		{0, 1, 1},
		{0x1p900, 1, 0x1p-900 * (1 - 0x1p-12)},
		{7, 0, 1},
		{7, -1, 1},
		{math.Inf(1), 1, 0},
		{math.NaN(), 1, 0},
		{math.Inf(1), 0, 0},
	} {
		assert.Equal(t, c.want, privacy.ClipScale(c.norm, c.clip), "%+v", c)
	}
}

func TestClipScaleBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		norm := rapid.Float64Range(0, 1e100).Draw(t, "norm")
		clip := rapid.Float64Range(1e-100, 1e100).Draw(t, "clip")
		factor := privacy.ClipScale(norm, clip)
		require.LessOrEqual(t, factor, 1.0)
		require.LessOrEqual(t, norm*factor, clip*(1-0x1p-12)*(1+0x1p-52))
	})
}

// TestRoundingMovesNoSum: short rows, of just below half a unit in the last place of a sum of 2^18,
// are lost in it, and count twice in a sum that is a little shorter. One row decides which it is.
func TestRoundingMovesNoSum(t *testing.T) {
	clipped := privacy.ClipScale(2, 1) * 2
	long := int(0x1p18/clipped) + 1
	require.Greater(t, float64(long)*clipped, 0x1p18)
	sum := func(first float64) float64 {
		sum := []float64{0}
		privacy.AddClipped(sum, []float64{first}, 1)
		for range long {
			privacy.AddClipped(sum, []float64{2}, 1)
		}
		for range 1 << 18 {
			privacy.AddClipped(sum, []float64{-0x1p-35 * (1 - 0x1p-20)}, 1)
		}
		return sum[0]
	}
	require.LessOrEqual(t, sum(0)-sum(-2), 1.0)
}
