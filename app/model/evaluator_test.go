package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// TestEvaluate: a model of zeros guesses class 0, at a loss of log 10.
func TestEvaluate(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
	e, err := evaluate.New(data.Test, m)
	require.NoError(t, err)
	got, err := e.Evaluate(make([]float64, m.Dim()))
	require.NoError(t, err)
	require.InDelta(t, 0.098, got.Accuracy, 1e-9)
	require.InDelta(t, 2.302585, got.Loss, 1e-5)
	_, err = e.Evaluate(make([]float64, m.Dim()-1))
	require.ErrorContains(t, err, "1969 parameters, the model has 1970")
}

// TestNewRefuses: a test set and a model that do not go together are an error.
func TestNewRefuses(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	good := params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
	_, err = evaluate.New(mnist.Set{}, good)
	require.ErrorContains(t, err, "empty")
	other := good
	other.Inputs = 100
	_, err = evaluate.New(data.Test, other)
	require.ErrorContains(t, err, "28x28 give 196 inputs and have 10 classes, the chain's model wants 100 and 10")
	other = good
	other.Pool = 3
	_, err = evaluate.New(data.Test, other)
	require.ErrorIs(t, err, mnist.ErrFeatures)
	other = good
	other.Hidden = model.MaxWidth + 1
	_, err = evaluate.New(data.Test, other)
	require.ErrorIs(t, err, model.ErrSpec)
}
