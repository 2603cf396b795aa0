package gradients

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantizeRoundsHalfToEven(t *testing.T) {
	g := Grid{Width: Int8, Step: 0.5}
	src := []float64{0, 0.25, 0.75, 1.25, -0.25, -0.75, 0.26, 63.5, -63.5, math.Copysign(0, -1)}
	dst := NewVector(Int8, len(src))
	require.Equal(t, 0, g.Quantize(dst, src))
	require.Equal(t, []int8{0, 0, 2, 2, 0, -2, 1, 127, -127, 0}, dst.Int8s())
}

func TestQuantizeSaturates(t *testing.T) {
	src := []float64{1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 1}
	for _, w := range []Width{Int8, Int16} {
		dst := NewVector(w, len(src))
		require.Equal(t, 5, Grid{Width: w, Step: 1}.Quantize(dst, src))
		m := w.Max()
		for i, want := range []int64{m, -m, m, -m, 0, 1} {
			require.Equal(t, want, dst.At(i), "%v of %v", w, src[i])
		}
		// x/Step itself overflows here.
		require.Equal(t, 2, Grid{Width: w, Step: 1e-300}.Quantize(dst, []float64{1e10, -1e10, 0, 0, 0, 0}))
		require.Equal(t, m, dst.At(0))
		// Half a step beyond the range rounds to an even neighbour outside it; just less does not.
		limit := float64(m)
		require.Equal(t, 1, Grid{Width: w, Step: 1}.Quantize(NewVector(w, 2), []float64{limit + 0.5, limit + 0.49}))
	}
}

func TestGridValidate(t *testing.T) {
	require.NoError(t, Grid{Int8, 0.1}.Validate())
	require.NoError(t, Grid{Int16, math.SmallestNonzeroFloat64}.Validate())
	require.ErrorIs(t, Grid{0, 1}.Validate(), ErrWidth)
	for _, step := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.ErrorIs(t, Grid{Int8, step}.Validate(), ErrStep)
	}
	require.Panics(t, func() { Grid{Int8, 0}.Quantize(NewVector(Int8, 1), []float64{1}) })
	require.Panics(t, func() { Grid{Int8, 1}.Quantize(NewVector(Int16, 1), []float64{1}) })
	require.Panics(t, func() { Grid{Int8, 1}.Quantize(NewVector(Int8, 2), []float64{1}) })
}
