package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/score"
)

// TestScore: a model of zeros guesses class 0, at a loss of log 10.
func TestScore(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
	test, err := score.New(data.Test, m)
	require.NoError(t, err)
	wrong, loss := test.Score(make([]float64, m.Dim()))
	require.InDelta(t, 0.902, wrong, 1e-9)
	require.InDelta(t, 2.302585, loss, 1e-5)
	m.Inputs = 100
	_, err = score.New(data.Test, m)
	require.ErrorContains(t, err, "196 inputs")
	_, err = score.New(mnist.Set{}, m)
	require.ErrorContains(t, err, "empty")
}
