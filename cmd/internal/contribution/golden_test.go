package contribution

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
)

// TestGolden: the same gradients and inputs give the same bits on every CPU, for both kinds of model.
// The inputs are pixels, which all CPUs round alike. make determinism runs it on amd64 and arm64.
func TestGolden(t *testing.T) {
	data, err := mnist.EmbeddedTest()
	require.NoError(t, err)
	test := data.Subset([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
	for kind, want := range map[string]string{
		params.ModelSoftmax: "b9de37fc7f94385db1ae62e946bfecbcc15c5da4bbc5b23a869798162bcac2bb",
		params.ModelMLP:     "c5d0804960bcd6641b5d02e57249c4d135fbbde292dcdbb177c9f4b86d1c0b61",
	} {
		t.Run(kind, func(t *testing.T) {
			p := params.Params{Model: params.Model{Kind: kind, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}}
			p.Training.LearningRate, p.Grid.Step = 0.37, 0.0123
			if kind == params.ModelMLP {
				p.Model.Hidden = 7
			}
			random := rand.New(rand.NewPCG(1, 2))
			applied := app.Applied{Coasted: make([]float64, p.Model.Dim())}
			for j := range applied.Coasted {
				applied.Coasted[j] = float64(random.IntN(2001)-1000) / 1000
			}
			for i := range 5 {
				v := gradients.NewVector(gradients.Int8, p.Model.Dim())
				for j := range v.Len() {
					v.Set(j, int64(random.IntN(255)-127))
				}
				applied.Participants, applied.Vectors = append(applied.Participants, uint32(i)), append(applied.Vectors, v)
			}
			applied.Delta = gradients.WeightedMean(applied.Vectors, []int64{3, 1, 0, 2, 2})
			e, err := New(Options{Test: test, Pairs: 2, Seed: 7})
			require.NoError(t, err)
			require.NoError(t, e.measures(p.Model))
			origins := e.copies.find(applied.Participants, applied.Vectors)
			w := weights(applied.Vectors, applied.Delta)
			for i, share := range []float64{3, 1, 0, 2, 2} {
				require.InDelta(t, share/8, w[i], 1e-5)
			}
			g, whole := e.game(p, applied, w, origins)
			leaveOneOut, full := g.leaveOneOut()
			empty := g.at(nil)
			values := append(g.shapley(2, rand.New(rand.NewPCG(7, 0)), empty, full), leaveOneOut...)
			values = append(append(append(values, w...), whole...), e.loss.at(whole), full, empty)
			h := sha256.New()
			for _, v := range values {
				fmt.Fprintf(h, "%016x", math.Float64bits(v))
			}
			h.Write([]byte(e.report.InputsHash))
			require.Equal(t, want, hex.EncodeToString(h.Sum(nil)))
		})
	}
}

// TestPortable: the portable functions agree with package math to a few units in the last place.
func TestPortable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	near := func(want, got float64) {
		t.Helper()
		require.InDelta(t, want, got, 4e-16*max(1, math.Abs(want)))
	}
	for range 10000 {
		x := 40 * (random.Float64() - 0.5)
		require.InEpsilon(t, math.Exp(x), exp(x), 2e-15)
		near(math.Tanh(x), tanh(x))
		positive := math.Exp(10 * (random.Float64() - 0.5))
		near(math.Log(positive), log(positive))
	}
	require.Equal(t, 1.0, exp(0))
	require.Zero(t, log(1))
	require.True(t, math.IsInf(exp(1000), 1))
	require.Zero(t, exp(-1000))
	require.True(t, math.IsNaN(exp(math.NaN())))
	require.True(t, math.IsNaN(log(math.NaN())))
}

// TestWeights: a rule that averages some gradients has the weights that its average has, and equal
// gradients share theirs.
func TestWeights(t *testing.T) {
	a, b := gradients.FromInt8([]int8{3, -5, 0, 7}), gradients.FromInt8([]int8{1, 2, -9, 0})
	w := weights([]gradients.Vector{a, b, a}, gradients.Mean([]gradients.Vector{a, b}))
	require.InDeltaSlice(t, []float64{0.25, 0.5, 0.25}, w, 1e-5)
	zero := gradients.NewVector(gradients.Int8, 4)
	two := []gradients.Vector{zero, zero}
	require.Equal(t, []float64{0.5, 0.5}, weights(two, gradients.Mean(two)))
}
