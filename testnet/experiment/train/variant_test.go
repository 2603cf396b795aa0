package train

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

// Both variants have the strokes' length and the examples' order, and are two maps.
func TestVariants(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	set := data.Test.Subset([]int{3, 1, 4, 15})
	names := []string{Raw}
	if !testing.Short() {
		names = append(names, Whitened) // draws the strokes of the recipe
	}
	var rows [][]float32
	for _, name := range names {
		all, err := variant(name, set)
		require.NoError(t, err)
		require.Equal(t, features.Blocks, all.Inputs)
		require.Equal(t, set.Labels, all.Labels)
		other, err := variant(name, set.Subset([]int{2, 0}))
		require.NoError(t, err)
		require.Equal(t, all.Row(2), other.Row(0))
		for i := range set.Len() {
			square := 0.0
			for _, v := range all.Row(i) {
				square += float64(v) * float64(v)
			}
			assert.InDelta(t, 3, math.Sqrt(square), 1e-4)
		}
		rows = append(rows, all.Row(0))
	}
	if len(rows) == 2 {
		assert.NotEqual(t, rows[0], rows[1])
	}
	_, err = variant("cooked", set)
	assert.ErrorContains(t, err, `unknown variant of the strokes "cooked", want raw or whitened`)
}

// A training on a variant is valid, and learns.
func TestVariantTrains(t *testing.T) {
	stage.NotShort(t, "trains for ten rounds")
	s, err := Preset("default", 4)
	require.NoError(t, err)
	s.Params.Training.Rounds, s.Params.Training.LearningRate, s.Seed = 10, 30, 1
	data, err := mnist.Embedded()
	require.NoError(t, err)
	out, err := Run(t.Context(), s.Vary(Raw), data)
	require.NoError(t, err)
	assert.Less(t, out.Rows[0][1], 0.5)
}
