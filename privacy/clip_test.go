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
		{1, 1, 1},
		{4, 1, 0.25},
		{0, 1, 1},
		{1e300, 1, 1e-300},
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
		require.LessOrEqual(t, norm*factor, clip*(1+0x1p-52))
	})
}
