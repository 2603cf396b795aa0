package evaluate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist/features"
)

// numbers returns parameters of a model that are all different.
func numbers(m params.Model) []float64 {
	x := make([]float64, m.Dim())
	for i := range x {
		x[i] = float64(i%17) - 8
	}
	return x
}

// TestPicturesOfPixels: the picture of a pixel's weight is the weight, and biases are not part of
// it.
func TestPicturesOfPixels(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 9, Classes: 4, Pool: 1, PixelScale: 255}
	n, side := evaluate.Frame(m)
	require.Equal(t, []int{4, 3}, []int{n, side})
	x := numbers(m)
	got, err := evaluate.Pictures(m, x)
	require.NoError(t, err)
	require.Equal(t, x[:36], got)

	m.Inputs = 10
	_, side = evaluate.Frame(m)
	require.Zero(t, side)
	_, err = evaluate.Pictures(m, numbers(m))
	require.ErrorContains(t, err, "no picture")
}

// TestPicturesOfStrokes: the map draws the weights on strokes, for the classes of softmax and for
// the hidden units of an MLP.
func TestPicturesOfStrokes(t *testing.T) {
	for _, m := range []params.Model{
		{Kind: params.ModelSoftmax, Inputs: features.Inputs, Classes: 10, NoBias: true, Features: inputs.Strokes()},
		{Kind: params.ModelMLP, Inputs: features.Inputs, Hidden: 5, Classes: 10, Features: inputs.Strokes()},
	} {
		n, side := evaluate.Frame(m)
		require.Equal(t, map[string]int{params.ModelSoftmax: 10, params.ModelMLP: 5}[m.Kind], n)
		require.Equal(t, 28, side)
		x := numbers(m)
		got, err := evaluate.Pictures(m, x)
		require.NoError(t, err)
		require.Len(t, got, n*side*side)
		strokes, err := features.New(side)
		require.NoError(t, err)
		require.Equal(t, strokes.Picture(x[3*features.Inputs:4*features.Inputs]), got[3*side*side:4*side*side])
		_, err = evaluate.Pictures(m, x[1:])
		require.ErrorContains(t, err, "no picture")
		m.Inputs = 161
		_, err = evaluate.Pictures(m, numbers(m))
		require.ErrorContains(t, err, "161 inputs, strokes have 160")
	}
}
