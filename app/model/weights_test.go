package model

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWeights: the weight of a class multiplies its examples' gradients before they are clipped, so
// that one example still moves the sum by at most the clip norm.
func TestWeights(t *testing.T) {
	m, err := New(Spec{Inputs: 3, Hidden: 4, Classes: 2})
	require.NoError(t, err)
	at := make([]float64, m.Dim())
	for i := range at {
		at[i] = float64(i%5-2) / 4
	}
	x := []float32{0.1, -0.2, 0.3}
	sum := func(label uint8, clip float64, weights ...float64) []float64 {
		out := make([]float64, m.Dim())
		m.Weigh(weights)
		m.ClippedSum(out, at, x, []uint8{label}, clip)
		return out
	}
	for label, weight := range []float64{0.5, 8} {
		plain, weighed := sum(uint8(label), 0), sum(uint8(label), 0, 0.5, 8)
		for i := range plain {
			require.InDelta(t, weight*plain[i], weighed[i], 1e-5)
		}
	}
	var square float64
	for _, v := range sum(1, 0.1, 0.5, 8) {
		square += v * v
	}
	require.LessOrEqual(t, math.Sqrt(square), 0.1)
	require.Greater(t, math.Sqrt(square), 0.0999)
	require.Panics(t, func() { m.Weigh([]float64{1}) })
}
