package train_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/experiment/train/traintest"
)

// at returns a column of a row.
func at(t *testing.T, s train.Spec, row []float64, column string) float64 {
	t.Helper()
	for i, name := range s.Columns() {
		if name == column {
			return row[i]
		}
	}
	t.Fatalf("no column %s", column)
	return 0
}

// TestShadowMovesNothing: a shadow measures, and the training ends in the same model.
func TestShadowMovesNothing(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "paper", 7, 2, "sign-flip")
	plain, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	s.Shadow = true
	shadowed, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.Equal(t, plain.Model, shadowed.Model)
	for i, row := range shadowed.Rows {
		require.Equal(t, fmt.Sprint(plain.Rows[i]), fmt.Sprint(row[:len(train.Columns)]), "as text, for NaN")
		require.Len(t, row, len(s.Columns()))
	}
}

// TestShadowMeasures: g and sigma_f are those of the data, whatever the noise; sigma is the
// preset's; h is the rule's.
func TestShadowMeasures(t *testing.T) {
	data := traintest.Task(t)
	first := func(s train.Spec) map[string]float64 {
		s.Shadow = true
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		row := map[string]float64{}
		for _, column := range train.ShadowColumns {
			row[column] = at(t, s, out.Rows[0], column)
		}
		return row
	}
	s := traintest.Spec(t, "default", 7, 2, "aware+minus-mean", traintest.Rule("mean"), func(p *params.Params) {
		p.Privacy.WorkerMomentum, p.Privacy.SamplingRate = 0, 0.1
		p.Election.CommitReveal = false // the first round's attackers see its honest vectors
		train.Regrid(p)
	})
	mean := first(s)
	assert.InDelta(t, float64(s.Params.Model.Dim())*math.Pow(s.Params.Noise().Std, 2), mean["noise"], 1e-6*mean["noise"])
	s.Params.Rule.Name = "nnm+trimmed-mean"
	robust := first(s)
	for _, column := range []string{"gradient", "sampling", "noise"} {
		assert.InDelta(t, mean[column], robust[column], 1e-12, "the rule has no part in %s at the first model", column)
	}
	assert.Greater(t, robust["aligned"], mean["aligned"], "two of seven point against g")

	s.Byzantine, s.Attack, s.Params.Rule.Name = 0, "", "mean"
	clean := first(s)
	assert.InDelta(t, 1, clean["aligned"]/clean["gradient"], 0.5, "the mean is g but for its noise")
	four := s
	four.Params.Privacy.Batch *= 4
	four.Params.Privacy.SamplingRate *= 4
	assert.InDelta(t, 4, clean["sampling"]/first(four)["sampling"], 2,
		"a batch four times as large has a quarter of the variance, or less")
}

// TestLone: the comparator is a function of its spec, learns, and sums the loss of its batches.
func TestLone(t *testing.T) {
	data := traintest.Task(t)
	s := traintest.Spec(t, "paper", 7, 2, "zero", func(p *params.Params) {
		p.Training.Rounds, p.Training.LearningRate, p.Training.Momentum, p.Training.WeightDecay = 8, 0.01, 0, 0
	})
	s.Lone = true
	out, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	again, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.Equal(t, out.Model, again.Model)
	var sum, steepest float64
	for _, row := range out.Rows {
		sum += at(t, s, row, "batch_loss")
		require.InDelta(t, sum, at(t, s, row, "loss_sum"), 1e-9)
		require.GreaterOrEqual(t, at(t, s, row, "steepest"), steepest)
		steepest = at(t, s, row, "steepest")
		require.Positive(t, at(t, s, row, "spread"))
	}
	require.InDelta(t, math.Log(10), at(t, s, out.Rows[0], "batch_loss"), 1e-6, "the model of zeros guesses")
	require.Less(t, at(t, s, out.Rows[7], "test_error"), at(t, s, out.Rows[0], "test_error"))

	chain := s
	chain.Lone, chain.Attack = false, "sign-flip"
	attacked, err := train.Run(t.Context(), chain, data)
	require.NoError(t, err)
	require.Equal(t, at(t, s, out.Rows[0], "steepest"), at(t, s, attacked.Rows[0], "steepest"),
		"the same batches: the same F")
}
