package model_test

import (
	"math"
	"slices"
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

// TestNeighbouringBatches: one row more moves the sum by at most the clip norm, wherever the row is
// and whatever the others are. No rounding is allowed for: the clip's margin pays for it.
func TestNeighbouringBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 1)
		clip := rapid.Float64Range(1e-6, 1e3).Draw(t, "clip")
		with, _ := p.sum(0, len(p.labels), clip)
		at := rapid.IntRange(0, len(p.labels)-1).Draw(t, "row")
		in := p.m.Spec().Inputs
		p.x, p.labels = slices.Delete(p.x, at*in, (at+1)*in), slices.Delete(p.labels, at, at+1)
		without, _ := p.sum(0, len(p.labels), clip)
		require.LessOrEqual(t, distance(with, without), clip)
	})
}

// rows is a number of equal rows whose inputs all are size.
type rows struct {
	n    int
	size float32
}

// moved returns by how much the sum moves, in clip norms, by one long row of class 1 in front of a
// batch of class 0: the runs, repeated up to n rows. The parameters are 0.
func moved(t require.TestingT, runs []rows, n int) float64 {
	const inputs = 8
	m, err := model.New(model.Spec{Inputs: inputs, Classes: 2, NoBias: true})
	require.NoError(t, err)
	x, labels := slices.Repeat([]float32{4}, inputs), []uint8{1}
	for i := 0; len(labels) <= n; i++ {
		r := runs[i%len(runs)]
		x = append(x, slices.Repeat([]float32{r.size}, inputs*r.n)...)
		labels = append(labels, make([]uint8, r.n)...)
	}
	params, with, without := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
	m.ClippedSum(with, params, x, labels, 1)
	m.ClippedSum(without, params, x[inputs:], labels[1:], 1)
	return distance(with, without)
}

// TestRoundingMovesNoSum: in float32 a sum of 129 rows loses a row that is below half a unit in its
// last place, and one of 128 does not. Sums of blocks of 256 such rows moved by 1.98 clip norms when
// one row in front shifted the blocks.
func TestRoundingMovesNoSum(t *testing.T) {
	for _, n := range []int{256 * 6, 256 * 59, 256 * 234} {
		for _, size := range []float32{3.7e-6, 3.75e-6, 3.8e-6} {
			require.LessOrEqual(t, moved(t, []rows{{128, 4}, {127, size}, {1, 4}}, n), 1.0, "%d rows, %g", n, size)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // other blocks, and other halves of a last place
		k := rapid.IntRange(1, 10).Draw(t, "log2 of the long rows")
		long, short := 1<<k, rapid.IntRange(1, 512).Draw(t, "short rows")
		size := float32(math.Ldexp(rapid.Float64Range(0.5, 4).Draw(t, "size"), k-25))
		require.LessOrEqual(t, moved(t, []rows{{long, 4}, {short, size}, {1, 4}}, 4096), 1.0)
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
