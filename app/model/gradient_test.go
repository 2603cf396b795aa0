package model_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
)

// specs are small enough for finite differences, and have odd widths, so that the kernels' unrolled
// loops have tails.
var specs = []model.Spec{
	{Inputs: 1, Classes: 2},
	{Inputs: 7, Classes: 3},
	{Inputs: 49, Classes: 10},
	{Inputs: 5, Hidden: 1, Classes: 2},
	{Inputs: 21, Hidden: 6, Classes: 4},
	{Inputs: 49, Classes: 10, NoBias: true},
	{Inputs: 21, Hidden: 6, Classes: 4, NoBias: true},
}

// The model computes in float32, 2^-24 = 6e-8 relative per operation. A logit is a sum of at most
// 50 products of magnitude up to 1, so that it is off by 50*50*6e-8 = 1.5e-4 at the very worst and
// by about sqrt(50)*6e-8 = 4e-7 in practice; probabilities, deltas and norms, all of magnitude 1,
// inherit that. Two further orders of magnitude leave room for the hidden layer.
const tolerance = 4e-5

func TestReferenceAgainstFiniteDifferences(t *testing.T) {
	for _, spec := range specs {
		t.Run(spec.String(), func(t *testing.T) {
			ref := reference{spec}
			params := uniform(spec.Dim(), 1, 1)
			x, labels := batch(spec, 1, 2)
			_, g := ref.gradient(params, x, labels[0])
			const h = 1e-5 // central differences: error h² from the third derivative, 1e-16/h from rounding
			for j := range params {
				at := params[j]
				params[j] = at + h
				above, _ := ref.gradient(params, x, labels[0])
				params[j] = at - h
				below, _ := ref.gradient(params, x, labels[0])
				params[j] = at
				assert.InDelta(t, (above-below)/(2*h), g[j], 1e-8, "coordinate %d", j)
			}
		})
	}
}

func TestClippedSumAgainstReference(t *testing.T) {
	for _, spec := range specs {
		for _, clip := range []float64{-1, 0, 0.01, 1, 1.3, 1e6} {
			for _, n := range []int{1, 2, 40} {
				t.Run(fmt.Sprintf("%v/clip=%v/n=%d", spec, clip, n), func(t *testing.T) {
					m, err := model.New(spec)
					require.NoError(t, err)
					params := uniform(spec.Dim(), 1, 3)
					x, labels := batch(spec, n, 4)
					want, wantStats := reference{spec}.clippedSum(params, x, labels, clip)

					got := uniform(spec.Dim(), 100, 5) // ClippedSum overwrites it
					stats := m.ClippedSum(got, params, x, labels, clip)

					assert.InDeltaSlice(t, want, got, float64(n)*tolerance)
					assert.InDelta(t, wantStats.Loss, stats.Loss, tolerance)
					assert.InEpsilon(t, wantStats.MaxNorm, stats.MaxNorm, tolerance)
					assert.InEpsilon(t, wantStats.MeanNorm, stats.MeanNorm, tolerance)
					assert.Equal(t, wantStats.Clipped, stats.Clipped)
					assert.Zero(t, stats.NonFinite)
				})
			}
		}
	}
}

// TestNormIsThatOfTheGradient: the norms by which examples are clipped are those of the accumulated
// vectors. For a batch of one without clipping they can be compared directly. Both are exact except
// for float64 roundings, fewer than 2^13 of 2^-53 relative.
func TestNormIsThatOfTheGradient(t *testing.T) {
	for _, spec := range specs {
		m, err := model.New(spec)
		require.NoError(t, err)
		g := make([]float64, m.Dim())
		for seed := range uint64(50) {
			x, labels := batch(spec, 1, seed)
			stats := m.ClippedSum(g, uniform(spec.Dim(), 1, seed), x, labels, 0)
			assert.InEpsilon(t, norm(g), stats.MaxNorm, 0x1p-40, "%v seed %d", spec, seed)
		}
	}
}

// TestAccumulation: rows are added to the sum in blocks. No row is lost or counted twice at the end
// of a block, and each of both sums is off by at most n²/2 times 2^-53 clip norms, as
// privacy.ClipScale says.
func TestAccumulation(t *testing.T) {
	spec := model.Spec{Inputs: 196, Classes: 10}
	m, err := model.New(spec)
	require.NoError(t, err)
	params := uniform(m.Dim(), 0.1, 1)
	x, labels := digits(t, 2, 1500)
	want, one, got := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
	for i := range labels {
		m.ClippedSum(one, params, x[i*spec.Inputs:(i+1)*spec.Inputs], labels[i:i+1], 1)
		for j, v := range one {
			want[j] += v
		}
		switch n := i + 1; n {
		case 1, 3, 4, 5, 8, 9, 1500:
			m.ClippedSum(got, params, x[:n*spec.Inputs], labels[:n], 1)
			for j := range got {
				got[j] -= want[j]
			}
			assert.LessOrEqual(t, norm(got), float64(n*n)*0x1p-53, "n=%d", n)
		}
	}
}

func TestEmptyBatch(t *testing.T) {
	m, err := model.New(model.Spec{Inputs: 3, Classes: 2})
	require.NoError(t, err)
	dst := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	assert.Equal(t, model.Stats{}, m.ClippedSum(dst, make([]float64, 8), nil, nil, 1))
	assert.Equal(t, make([]float64, 8), dst)
	assert.Equal(t, model.Eval{}, m.Evaluate(make([]float64, 8), nil, nil))
}

// TestNonFiniteExamplesAddNothing: neither a diverged model nor a poisoned example breaks the sum
// or the bound on an example's influence.
func TestNonFiniteExamplesAddNothing(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, spec := range []model.Spec{{Inputs: 2, Classes: 3}, {Inputs: 2, Hidden: 4, Classes: 3}} {
		m, err := model.New(spec)
		require.NoError(t, err)
		params := uniform(m.Dim(), 1, 1)
		good, alone := make([]float64, m.Dim()), []float32{0.5, 0.25}
		m.ClippedSum(good, params, alone, []uint8{1}, 1)

		got := make([]float64, m.Dim())
		x := []float32{nan, 1, 0.5, 0.25, 1, inf}
		stats := m.ClippedSum(got, params, x, []uint8{0, 1, 2}, 1)
		assert.Equal(t, good, got)
		assert.Equal(t, 2, stats.NonFinite)
		assert.InEpsilon(t, stats.MaxNorm, stats.MeanNorm, 1e-12)

		eval := m.Evaluate(params, x, []uint8{0, 1, 2})
		assert.Positive(t, eval.NonFinite)
		assert.LessOrEqual(t, eval.Correct, 3-eval.NonFinite)
		assert.False(t, math.IsNaN(eval.Loss))

		for j := range params {
			params[j] = math.NaN()
		}
		stats = m.ClippedSum(got, params, alone, []uint8{1}, 1)
		assert.Equal(t, model.Stats{NonFinite: 1}, stats)
		assert.Equal(t, make([]float64, m.Dim()), got)
		assert.Equal(t, model.Eval{Examples: 1, NonFinite: 1}, m.Evaluate(params, alone, []uint8{1}))
	}
}

func TestShapePanics(t *testing.T) {
	m, err := model.New(model.Spec{Inputs: 3, Classes: 2})
	require.NoError(t, err)
	dst, params, x := make([]float64, 8), make([]float64, 8), make([]float32, 6)
	for want, call := range map[string]func(){
		"model: destination of 7, want 8":    func() { m.ClippedSum(dst[:7], params, x, []uint8{0, 1}, 1) },
		"model: 7 parameters, want 8":        func() { m.ClippedSum(dst, params[:7], x, []uint8{0, 1}, 1) },
		"model: 6 inputs, want 1 rows of 3":  func() { m.ClippedSum(dst, params, x, []uint8{0}, 1) },
		"model: label 1 is 2, want below 2":  func() { m.ClippedSum(dst, params, x, []uint8{0, 2}, 1) },
		"model: 9 parameters, want 8":        func() { m.Evaluate(append(params, 0), x, []uint8{0, 1}) },
		"model: 5 inputs, want 2 rows of 3":  func() { m.Evaluate(params, x[:5], []uint8{0, 1}) },
		"model: label 0 is 10, want below 2": func() { m.Evaluate(params, x, []uint8{10, 1}) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
}

// TestGradient: with the deltas of the cross-entropy, Gradient is the sum without clipping, bit for
// bit, over more rows than one flush holds. With the deltas of one logit it is that logit's slope.
func TestGradient(t *testing.T) {
	for _, spec := range specs {
		m, err := model.New(spec)
		require.NoError(t, err)
		params := uniform(m.Dim(), 1, 3)
		x, labels := batch(spec, 600, 4)
		want, got := make([]float64, m.Dim()), uniform(m.Dim(), 100, 5)
		m.ClippedSum(want, params, x, labels, 0)
		m.Gradient(got, params, x, labels, func(logits []float32, label uint8) {
			var total float64
			top := slices.Max(logits)
			for c, v := range logits {
				e := math.Exp(float64(v) - float64(top))
				logits[c] = float32(e)
				total += e
			}
			for c, v := range logits {
				logits[c] = float32(float64(v) / total)
			}
			logits[label]--
		})
		require.Equal(t, want, got)
		m.Gradient(got, params, x[:spec.Inputs], labels[:1], func(logits []float32, _ uint8) {
			clear(logits)
			logits[1] = 1
		})
		if !spec.NoBias {
			require.Equal(t, 1.0, got[m.Dim()-spec.Classes+1], "the bias of class 1")
		}
	}
}
