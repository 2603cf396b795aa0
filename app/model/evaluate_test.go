package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
)

// TestGuesses: each example is counted once, by its label and its guess, so the diagonal counts the
// correct guesses.
func TestGuesses(t *testing.T) {
	m, err := model.New(model.Spec{Inputs: 2, Classes: 3, NoBias: true})
	require.NoError(t, err)
	weights := []float64{1, 0, 0, 1, 0, 0} // the logits are the inputs, and a third one of 0
	e := m.Evaluate(weights, []float32{1, 0, 0, 1, -1, -1, 1, 0, 0, 1}, []uint8{0, 1, 2, 1, 1})
	require.Equal(t, []int{1, 0, 0, 1, 2, 0, 0, 0, 1}, e.Guesses)
	require.Equal(t, 4, e.Correct)
}
