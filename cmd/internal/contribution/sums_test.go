package contribution_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/contribution"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// TestSums: if gradients are sums, the last round holds all of them, and its values are those of the epoch: they
// add up to the fall of the loss from the first model, of which every class has the same chance.
func TestSums(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	data.Train, data.Test = every(data.Train, 4), every(data.Test, 4) // the inputs of all rows take seconds
	p := shortSteps(t, 4)
	p.Training.Rounds, p.Rule.Name, p.Grid.Width = 4, "mean", 2
	p.Privacy.WorkerMomentum, p.Privacy.SamplingRate = 1, 1
	p.Privacy.Batch, p.Privacy.Cost, p.Privacy.Budget = uint32(data.Train.Len()/4), nil, nil
	p.Privacy.Epsilon, p.Privacy.Delta = 0, 0
	train.Regrid(&p)
	r, loss := estimate(t, start(t, p, data, graded(4, 0), 1), data.Test, contribution.Options{Seed: 1})
	require.EqualValues(t, 1, r.Rounds)
	require.Greater(t, r.Improvement, 0.5)
	require.InDelta(t, math.Log(10)-loss, r.Improvement, 1e-6)
	sum := r.Rest + r.Copied
	for _, m := range r.Members {
		require.Equal(t, 1, m.Rounds)
		sum += m.Shapley.Sum
	}
	require.InDelta(t, r.Improvement, sum, 1e-9)
}

// every returns each k-th example of a set.
func every(s mnist.Set, k int) mnist.Set {
	var rows []int
	for i := 0; i < s.Len(); i += k {
		rows = append(rows, i)
	}
	return s.Subset(rows)
}
