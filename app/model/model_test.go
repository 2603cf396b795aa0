package model_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// TestSpecOfTheChainsModel: a chain's model has the same number of parameters as the network that
// trains it.
func TestSpecOfTheChainsModel(t *testing.T) {
	for _, m := range []params.Model{
		{Kind: params.ModelSoftmax, Inputs: 160, Classes: 10},
		{Kind: params.ModelSoftmax, Inputs: 160, Classes: 10, NoBias: true},
		{Kind: params.ModelMLP, Inputs: 196, Hidden: 32, Classes: 10},
		{Kind: params.ModelMLP, Inputs: 196, Hidden: 32, Classes: 10, NoBias: true},
	} {
		require.Equal(t, m.Dim(), model.SpecOf(m).Dim())
	}
}

func TestSpec(t *testing.T) {
	for spec, dim := range map[model.Spec]int{
		{Inputs: 196, Classes: 10}:                       1970,
		{Inputs: 784, Classes: 10}:                       7850,
		{Inputs: 196, Hidden: 32, Classes: 10}:           6634,
		{Inputs: 784, Hidden: 128, Classes: 10}:          101770,
		{Inputs: 160, Classes: 10, NoBias: true}:         1600,
		{Inputs: 8, Hidden: 4, Classes: 2, NoBias: true}: 40,
	} {
		m, err := model.New(spec)
		require.NoError(t, err)
		assert.Equal(t, dim, m.Dim())
		assert.Equal(t, dim, spec.Dim())
		assert.Equal(t, spec, m.Spec())
	}
	assert.Equal(t, "196-10", model.Spec{Inputs: 196, Classes: 10}.String())
	assert.Equal(t, "160-10 without bias", model.Spec{Inputs: 160, Classes: 10, NoBias: true}.String())
	assert.Equal(t, "196-32-10", model.Spec{Inputs: 196, Hidden: 32, Classes: 10}.String())
}

func TestSpecErrors(t *testing.T) {
	for _, c := range []struct {
		spec model.Spec
		want string
	}{
		{model.Spec{Inputs: 0, Classes: 10}, "model: bad spec: 0 inputs, want 1 to 65536"},
		{model.Spec{Inputs: 65537, Classes: 10}, "model: bad spec: 65537 inputs, want 1 to 65536"},
		{model.Spec{Inputs: 1, Hidden: -1, Classes: 10}, "model: bad spec: -1 hidden units, want 0 to 65536"},
		{model.Spec{Inputs: 1, Hidden: 65537, Classes: 10}, "model: bad spec: 65537 hidden units, want 0 to 65536"},
		{model.Spec{Inputs: 1, Classes: 1}, "model: bad spec: 1 classes, want 2 to 256"},
		{model.Spec{Inputs: 1, Classes: 257}, "model: bad spec: 257 classes, want 2 to 256"},
		{
			model.Spec{Inputs: 65536, Hidden: 65536, Classes: 256},
			"model: bad spec: 4311810304 parameters, want at most 2097152",
		},
	} {
		_, err := model.New(c.spec)
		require.ErrorIs(t, err, model.ErrSpec)
		assert.EqualError(t, err, c.want)
	}
}

func TestEvaluateAgainstReference(t *testing.T) {
	for _, spec := range specs {
		m, err := model.New(spec)
		require.NoError(t, err)
		params := uniform(spec.Dim(), 1, 7)
		x, labels := batch(spec, 100, 8)
		_, want := reference{spec}.clippedSum(params, x, labels, 0)
		eval := m.Evaluate(params, x, labels)
		assert.InDelta(t, want.Loss, eval.Loss, tolerance)
		assert.Equal(t, float64(eval.Correct)/100, eval.Accuracy)
		assert.Zero(t, eval.NonFinite)
	}
}

func TestEvaluateTakesTheLowestClassOnTies(t *testing.T) {
	m, err := model.New(model.Spec{Inputs: 1, Classes: 4})
	require.NoError(t, err)
	params := []float64{0, 0, 0, 0 /* biases: */, 0, 1, 1, 0}
	eval := m.Evaluate(params, make([]float32, 4), []uint8{0, 1, 2, 3})
	assert.Equal(t, 1, eval.Correct)
	assert.Equal(t, 0.25, eval.Accuracy)
}

// TestLearnsDigits: plain gradient descent on the first 1,500 images, measured on the same images:
// every layer learns.
func TestLearnsDigits(t *testing.T) {
	x, labels := digits(t, 2, 1500)
	for _, spec := range []model.Spec{{Inputs: 196, Classes: 10}, {Inputs: 196, Hidden: 32, Classes: 10}} {
		t.Run(spec.String(), func(t *testing.T) {
			m, err := model.New(spec)
			require.NoError(t, err)
			params, sum := uniform(m.Dim(), 0.1, 1), make([]float64, m.Dim())
			before := m.Evaluate(params, x, labels)
			for range 200 {
				m.ClippedSum(sum, params, x, labels, 0)
				for j, g := range sum {
					params[j] -= g / 1500
				}
			}
			after := m.Evaluate(params, x, labels)
			assert.Less(t, after.Loss, before.Loss/3)
			assert.Greater(t, after.Accuracy, 0.9)
		})
	}
}

func Example() {
	m, err := model.New(model.Spec{Inputs: 2, Classes: 2})
	if err != nil {
		panic(err)
	}
	params := make([]float64, m.Dim())
	x, labels := []float32{1, 0, 0, 1}, []uint8{0, 1}

	sum := make([]float64, m.Dim())
	for range 10 {
		m.ClippedSum(sum, params, x, labels, 1)
		for j, g := range sum {
			params[j] -= g / float64(len(labels))
		}
	}
	eval := m.Evaluate(params, x, labels)
	fmt.Printf("%d parameters, %d of %d correct\n", m.Dim(), eval.Correct, len(labels))
	// Output: 6 parameters, 2 of 2 correct
}
