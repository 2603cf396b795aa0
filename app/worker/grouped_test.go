package worker_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// groupedParams returns parameters on a table of two columns whose unit is a group, with every group
// drawn in every round.
func groupedParams(t *testing.T, examples int) params.Params {
	t.Helper()
	table := &params.Table{Label: "y", Group: "id", Classes: []string{"0", "1"},
		Columns: []params.Column{{Name: "a", High: 1}, {Name: "b", High: 1}}}
	p, err := preset.Make("default", 4, preset.Own{Data: &preset.Data{Examples: 4 * examples, Table: table, Classes: 2}})
	require.NoError(t, err)
	require.Equal(t, params.UnitGroup, p.Privacy.Unit)
	_, err = p.Validate(4)
	require.NoError(t, err)
	p.Privacy.SamplingRate, p.Privacy.NoiseFloor = 1, false
	return p
}

// grouped returns 20 groups of one row and, last, one of k like rows.
func grouped(k int) mnist.Features {
	rng := rand.New(rand.NewPCG(5, 5))
	f := mnist.Features{Inputs: 3}
	for i := range 20 + k {
		x := []float32{rng.Float32(), rng.Float32(), params.TableConstant}
		if i >= 20 {
			x = []float32{1, 1, params.TableConstant}
		}
		f.X, f.Labels = append(f.X, x...), append(f.Labels, uint8(1))
		f.Groups = append(f.Groups, uint32(min(i, 20)))
	}
	return f
}

// moved returns by how much the last k rows move a step's sum.
func moved(t *testing.T, p params.Params, f mnist.Features, k int) float64 {
	t.Helper()
	n := f.Len() - k
	less := mnist.Features{X: f.X[:3*n], Labels: f.Labels[:n], Groups: f.Groups[:n], Inputs: 3}
	var sums [2][]float64
	for i, data := range []mnist.Features{f, less} {
		trainer, err := worker.NewTrainer(p, data, privacy.NewTestSource(1))
		require.NoError(t, err)
		sums[i], err = trainer.Sum(context.Background(), privacy.NewTestSource(1), make([]float64, p.Model.Dim()))
		require.NoError(t, err)
	}
	square := 0.0
	for j, v := range sums[0] {
		square += (v - sums[1][j]) * (v - sums[1][j])
	}
	return math.Sqrt(square)
}

// TestOneGroupMovesTheSumByOneClip: a group of k rows moves a step's sum by at most the clip norm,
// and by k clip norms where the unit is an example.
func TestOneGroupMovesTheSumByOneClip(t *testing.T) {
	for _, k := range []int{1, 5, 20, 50} {
		f, p := grouped(k), groupedParams(t, 21)
		p.Privacy.Clip = 0.1
		clip := p.Privacy.Clip * (1 - 0x1p-12)
		require.InDelta(t, clip, moved(t, p, f, k), 1e-6, "k = %d", k)
		p.Privacy.Unit = ""
		require.InDelta(t, float64(k)*clip, moved(t, p, f, k), 1e-6*float64(k), "k = %d", k)
	}
	p := groupedParams(t, 21) // a group adds the mean of its rows: like rows count as one of them
	p.Privacy.Clip = 10
	f := grouped(5)
	one := mnist.Features{X: f.X[:3*21], Labels: f.Labels[:21], Groups: f.Groups[:21], Inputs: 3}
	require.InDelta(t, moved(t, p, one, 1), moved(t, p, f, 5), 1e-6)
	p.Privacy.Clip, p.Model.Table.Weights = 0.1, []float64{2, 0.5}
	require.InDelta(t, 0.1/4*(1-0x1p-12), moved(t, p, f, 5), 1e-6, "weighed after the clip")
	_, err := worker.NewTrainer(p, mnist.Features{X: make([]float32, 6), Labels: make([]uint8, 2), Inputs: 3},
		privacy.NewTestSource(1))
	require.ErrorContains(t, err, "2 examples with 0 groups")
}
