package model

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWeights: the weight of a class, over the largest, multiplies its examples' gradients after they
// are clipped, so that it acts on gradients that the clip norm cuts, and one example still moves the
// sum by at most the clip norm.
func TestWeights(t *testing.T) {
	m, err := New(Spec{Inputs: 3, Hidden: 4, Classes: 2})
	require.NoError(t, err)
	at := make([]float64, m.Dim())
	for i := range at {
		at[i] = float64(i%5-2) / 4
	}
	x := []float32{0.1, -0.2, 0.3}
	norm := func(v []float64) float64 { return math.Sqrt(squareOf(v)) }
	sum := func(label uint8, clip float64, weights ...float64) []float64 {
		out := make([]float64, m.Dim())
		m.Weigh(weights)
		m.ClippedSum(out, at, x, []uint8{label}, clip)
		return out
	}
	for label, weight := range []float64{1. / 16, 1} {
		for _, clip := range []float64{0, 0.1} {
			plain, weighed := sum(uint8(label), clip), sum(uint8(label), clip, 0.5, 8)
			for i := range plain {
				require.Equal(t, weight*plain[i], weighed[i])
			}
			require.Equal(t, weighed, sum(uint8(label), clip, 0.0625, 1), "only the ratio counts")
		}
	}
	require.LessOrEqual(t, norm(sum(1, 0.1, 0.5, 8)), 0.1)
	require.Greater(t, norm(sum(1, 0.1, 0.5, 8)), 0.0999)
	require.Panics(t, func() { m.Weigh([]float64{1}) })
}

func squareOf(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// TestLogistic: with one output the loss, the probability and the gradient are those of a softmax
// whose first class has weights of 0.
func TestLogistic(t *testing.T) {
	one, err := New(Spec{Inputs: 3, Classes: 2, NoBias: true, Logistic: true})
	require.NoError(t, err)
	two, err := New(Spec{Inputs: 3, Classes: 2, NoBias: true})
	require.NoError(t, err)
	require.Equal(t, []int{3, 6}, []int{one.Dim(), two.Dim()})
	w := []float64{1.5, -2, 0.5}
	both := append(make([]float64, 3), w...)
	x, labels := []float32{0.1, -0.2, 0.3, 2, 1, -1, 0.5, 3, 0}, []uint8{0, 1, 1}
	require.Equal(t, two.Evaluate(both, x, labels), one.Evaluate(w, x, labels))
	require.Equal(t, two.Positive(both, x, labels), one.Positive(w, x, labels))
	got, want := make([]float64, 3), make([]float64, 6)
	one.ClippedSum(got, w, x, labels, 0)
	two.ClippedSum(want, both, x, labels, 0)
	require.Equal(t, want[3:], got)
	stats := one.ClippedSum(got, w, x, labels, 0.25)
	require.Equal(t, 3.0, stats.Weight)
	require.Less(t, squareOf(got), squareOf(want[3:]))
	_, err = New(Spec{Inputs: 3, Classes: 3, Logistic: true})
	require.ErrorIs(t, err, ErrSpec)
}
