package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/app/model"
)

// problem is an arbitrary model with parameters of any magnitude and a batch.
type problem struct {
	m      *model.Model
	params []float64
	x      []float32
	labels []uint8
}

func drawProblem(t *rapid.T, minBatch int) problem {
	spec := model.Spec{
		Inputs:  rapid.IntRange(1, 30).Draw(t, "inputs"),
		Hidden:  rapid.IntRange(0, 5).Draw(t, "hidden"),
		Classes: rapid.IntRange(2, 6).Draw(t, "classes"),
		NoBias:  rapid.Bool().Draw(t, "no bias"),
	}
	m, err := model.New(spec)
	require.NoError(t, err)
	scale := rapid.SampledFrom([]float64{0, 0.01, 1, 100, 1e20, 1e38}).Draw(t, "scale")
	p := problem{m: m, params: uniform(spec.Dim(), scale, rapid.Uint64().Draw(t, "params seed"))}
	p.x, p.labels = batch(spec, rapid.IntRange(minBatch, 12).Draw(t, "batch"), rapid.Uint64().Draw(t, "batch seed"))
	return p
}

func (p problem) sum(from, to int, clip float64) ([]float64, model.Stats) {
	dst := make([]float64, p.m.Dim())
	in := p.m.Spec().Inputs
	stats := p.m.ClippedSum(dst, p.params, p.x[from*in:to*in], p.labels[from:to], clip)
	return dst, stats
}

// TestOneExampleStaysWithinTheClipNorm states the law on which privacy rests, strictly: no single
// example adds more than the clip norm.
func TestOneExampleStaysWithinTheClipNorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 1)
		clip := rapid.Float64Range(1e-6, 1e3).Draw(t, "clip")
		for i := range p.labels {
			g, _ := p.sum(i, i+1, clip)
			require.LessOrEqual(t, norm(g), clip)
		}
	})
}

// TestNeighbouringBatches: adding one example moves the sum by at most the clip norm, except for
// the rounding of the accumulation. Here that is at most 12 rows of norm clip, each addition off by
// 2^-24 of the running sum.
func TestNeighbouringBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 1)
		clip := rapid.Float64Range(1e-6, 1e3).Draw(t, "clip")
		n := len(p.labels)
		with, _ := p.sum(0, n, clip)
		without, _ := p.sum(0, n-1, clip)
		for j := range with {
			with[j] -= without[j]
		}
		require.LessOrEqual(t, norm(with), clip*(1+1e-5))
	})
}

func TestClippingBeyondEveryNormIsNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 0)
		plain, stats := p.sum(0, len(p.labels), 0)
		require.Zero(t, stats.Clipped)
		clipped, again := p.sum(0, len(p.labels), 2*stats.MaxNorm+1)
		require.Equal(t, plain, clipped)
		require.Equal(t, stats, again)
	})
}

// TestModelsHaveNoMemory: a model holds only scratch memory, so earlier calls do not affect a
// result.
func TestModelsHaveNoMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 2)
		first, stats := p.sum(0, 1, 1)
		p.sum(1, len(p.labels), 0)
		again, statsAgain := p.sum(0, 1, 1)
		require.Equal(t, first, again)
		require.Equal(t, stats, statsAgain)
	})
}

// TestSoftmaxGradientsSumToZero: softmax gradients sum to zero over the classes, as the
// probabilities minus the one-hot label do.
func TestSoftmaxGradientsSumToZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 1)
		spec := p.m.Spec()
		if spec.Hidden > 0 {
			t.Skip()
		}
		g, _ := p.sum(0, len(p.labels), 1)
		for j := range spec.Inputs {
			total := 0.0
			for c := range spec.Classes {
				total += g[c*spec.Inputs+j]
			}
			require.InDelta(t, 0, total, 1e-5)
		}
	})
}
