package preset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
)

// TestSetBatch: rate and noise follow from the batch, the budget pays for all rounds as before, and a
// step adds no more noise to the model.
func TestSetBatch(t *testing.T) {
	for _, batch := range []int{1000, 2571, 6000} {
		was, err := preset.New("default", 7)
		require.NoError(t, err)
		p := was
		require.NoError(t, preset.SetBatch(&p, batch))
		require.EqualValues(t, batch, p.Privacy.Batch)
		require.InEpsilon(t, float64(was.Privacy.Batch)/was.Privacy.SamplingRate, float64(batch)/p.Privacy.SamplingRate,
			1e-9, "the number of examples is the same")
		require.Equal(t, was.Privacy.Epsilon, p.Privacy.Epsilon)
		cost, err := preset.EpsilonAfter(p.Privacy, p.Training.Rounds)
		require.NoError(t, err)
		require.LessOrEqual(t, cost, p.Privacy.Epsilon)
		noise := func(rate, multiplier float64, batch uint32) float64 { return rate * multiplier / float64(batch) }
		require.LessOrEqual(t, noise(p.Training.LearningRate, p.Privacy.NoiseMultiplier, p.Privacy.Batch),
			noise(was.Training.LearningRate, was.Privacy.NoiseMultiplier, was.Privacy.Batch)*(1+1e-9))
		_, err = p.Validate(7)
		require.NoError(t, err)
	}
	p, err := preset.New("default", 7)
	require.NoError(t, err)
	require.ErrorContains(t, preset.SetBatch(&p, 10_000), "batch 10000, want 1 to the 8571 examples")
	require.ErrorContains(t, preset.SetBatch(&p, 0), "batch 0, want 1")
	if p, err = preset.New("paper", 7); err == nil {
		require.ErrorContains(t, preset.SetBatch(&p, 100), "mechanism")
	}
}
