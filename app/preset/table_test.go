package preset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// TestTableTraining: a linear model of a table takes all rows each round, as many steps as its noise
// allows, and an exact ledger. Only the ratio of weights matters, and rare classes get a wider clip.
func TestTableTraining(t *testing.T) {
	make := func(n, rows int, rounds uint64, change func(*params.Table)) params.Params {
		table := wide("")
		change(table)
		p, err := preset.Make("default", n, preset.Own{Epsilon: 1, Examples: rows, Rounds: rounds,
			Data: &preset.Data{Classes: len(table.Classes), Table: table}})
		require.NoError(t, err)
		_, err = p.Validate(n)
		require.NoError(t, err)
		require.Equal(t, 1.0, p.Privacy.Epsilon)
		require.EqualValues(t, rows, p.Privacy.Batch)
		return p
	}
	plain := make(10, 45, 0, func(*params.Table) {})
	require.Equal(t, 1.0, plain.Privacy.SamplingRate)
	require.True(t, plain.Privacy.Sums())
	require.EqualValues(t, 8, plain.Training.Rounds)
	require.Equal(t, 31, plain.Model.Dim())
	require.EqualValues(t, 24, make(4, 1000, 0, func(*params.Table) {}).Training.Rounds)
	require.EqualValues(t, 64, make(3, 1000, 0, func(*params.Table) {}).Training.Rounds, "nobody attacks")
	large := make(4, 10_000, 0, func(*params.Table) {})
	require.EqualValues(t, 64, large.Training.Rounds)
	require.False(t, large.Privacy.Sums(), "little hides in their noise, and honest differences do not")
	same := make(10, 45, 16, func(*params.Table) {})
	require.InDelta(t, plain.Training.LearningRate, 2*same.Training.LearningRate, 0.01, "the same way in twice the steps")
	require.LessOrEqual(t, preset.FullRounds(plain, 10), int(plain.Training.Rounds), "the preset's own are enough")
	require.Equal(t, 64, preset.FullRounds(large, 4))
	require.Equal(t, 24, preset.FullRounds(make(4, 1000, 3, func(*params.Table) {}), 4), "three are too few")
	rare := make(10, 45, 0, func(t *params.Table) { t.Rate = 0.05 })
	require.InDelta(t, 1.8*plain.Privacy.Clip, rare.Privacy.Clip, 0.01)
	weighed := make(10, 45, 0, func(t *params.Table) { t.Rate, t.Weights = 0.125, []float64{1, 7} })
	require.InDelta(t, plain.Privacy.Clip, weighed.Privacy.Clip, 0.01, "balanced")
	ratio := make(10, 45, 0, func(t *params.Table) { t.Rate, t.Weights = 0.125, []float64{0.5, 3.5} })
	require.Equal(t, weighed.Training, ratio.Training)
	three := make(4, 1000, 0, func(t *params.Table) { t.Classes = append(t.Classes, "2") })
	require.Equal(t, params.ModelSoftmax, three.Model.Kind)
	require.Equal(t, 3*31, three.Model.Dim())
}

// TestStopsEarly: a training whose steps are too few or too short gets a warning.
func TestStopsEarly(t *testing.T) {
	p, err := preset.Make("default", 4, preset.Own{Epsilon: 1, Examples: 100,
		Data: &preset.Data{Classes: 2, Table: wide("")}})
	require.NoError(t, err)
	require.Empty(t, preset.StopsEarly(p))
	p.Training.LearningRate /= 10
	require.Contains(t, preset.StopsEarly(p), "the training stops early")
	p, err = preset.New("default", 4)
	require.NoError(t, err)
	require.Empty(t, preset.StopsEarly(p))
}
