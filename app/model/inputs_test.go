package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

// strokes returns a model on the feature map.
func strokes() params.Model {
	return params.Model{
		Kind: params.ModelSoftmax, Inputs: params.StrokesInputs, Classes: 10, Pool: 1, PixelScale: 255, NoBias: true,
		Features: inputs.Strokes(),
	}
}

// pixels returns a model on 14x14 means.
func pixels() params.Model {
	return params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
}

// imagesOf returns the beginning of MNIST's test set.
func imagesOf(t *testing.T, n int) mnist.Set {
	t.Helper()
	data, err := mnist.Embedded()
	require.NoError(t, err)
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return data.Test.Subset(index)
}

// TestTheCoreKnowsTheMap: the core names this program's map, with the same shape.
func TestTheCoreKnowsTheMap(t *testing.T) {
	require.Equal(t, params.FeaturesStrokes, features.Name)
	require.Equal(t, params.StrokesInputs, features.Inputs)
}

// TestAPartHasTheRowsOfTheWhole: a part has the same rows as the whole set, from memory and computed alone.
func TestAPartHasTheRowsOfTheWhole(t *testing.T) {
	set, part := imagesOf(t, 30), []int{17, 3, 29}
	for i := range set.Len() {
		set.Groups = append(set.Groups, uint32(i/7))
	}
	for _, m := range []params.Model{pixels(), strokes()} {
		all, err := inputs.Features(set, nil, m, inputs.Keep{})
		require.NoError(t, err)
		require.Equal(t, set.Labels, all.Labels)
		require.Equal(t, set.Groups, all.Groups)
		require.Equal(t, int(m.Inputs), all.Inputs)
		for range 2 {
			for _, keep := range []inputs.Keep{{}, {Alone: true}} {
				some, err := inputs.Features(set, part, m, keep)
				require.NoError(t, err)
				require.Len(t, some.Labels, len(part))
				require.Equal(t, []uint32{2, 0, 4}, some.Groups)
				for i, k := range part {
					require.Equal(t, all.Row(k), some.Row(i))
					require.Equal(t, all.Labels[k], some.Labels[i])
				}
				some.Labels[0]++ // changes a copy
				require.Equal(t, imagesOf(t, 30).Labels, set.Labels)
			}
		}
	}
}

// TestSetsBeyondTheMemory: more sets than the cache holds give the same rows as before.
func TestSetsBeyondTheMemory(t *testing.T) {
	for range 2 {
		for n := 1; n < 8; n++ {
			f, err := inputs.Features(imagesOf(t, n), nil, strokes(), inputs.Keep{})
			require.NoError(t, err)
			want, err := features.Strokes(imagesOf(t, n), nil)
			require.NoError(t, err)
			require.Equal(t, want, f)
		}
	}
}

func TestRefuses(t *testing.T) {
	set := imagesOf(t, 2)
	foreign := strokes()
	foreign.Features.Hash = strings.Repeat("ab", 32)
	_, err := inputs.Features(set, nil, foreign, inputs.Keep{})
	require.ErrorIs(t, err, inputs.ErrMap)
	require.ErrorContains(t, err, foreign.Features.Hash)
	require.ErrorContains(t, err, inputs.Strokes().Hash)

	other := pixels()
	other.Inputs = 195
	_, err = inputs.Features(set, []int{0}, other, inputs.Keep{})
	require.ErrorIs(t, err, inputs.ErrInputs)
	require.ErrorContains(t, err, "28x28 give 196 inputs and have 8 classes, the chain's model wants 195 and 10; a "+
		"chain for these data is made by spdl-lab testnet start --data")

	few := pixels()
	few.Classes = 9
	_, err = inputs.Features(imagesOf(t, 20), []int{0}, few, inputs.Keep{})
	require.ErrorIs(t, err, inputs.ErrInputs)
	require.ErrorContains(t, err, "have 10 classes, the chain's model wants 196 and 9")

	oblong := mnist.Set{Images: make([]byte, 8*9), Labels: []byte{0}, Rows: 8, Cols: 9}
	_, err = inputs.Features(oblong, nil, strokes(), inputs.Keep{})
	require.ErrorIs(t, err, mnist.ErrFeatures)
}

// TestCentredTable: a centred table's inputs are the levels less the typical row, and the constant.
// Other tables' inputs are the levels alone.
func TestCentredTable(t *testing.T) {
	table := &params.Table{Columns: []params.Column{{Name: "a", High: 1}, {Name: "b", High: 4, Typical: new(float64)}}}
	m := params.Model{Inputs: 2, Classes: 2, Pool: 1, PixelMean: params.TableMean, PixelScale: params.TableScale,
		Table: table}
	set := mnist.Set{Images: []uint8{0, 255, 255, 0}, Labels: []uint8{0, 1}, Rows: 1, Cols: 2}
	f, err := inputs.Features(set, nil, m, inputs.Keep{})
	require.NoError(t, err)
	require.Equal(t, []float32{-1, 1, 1, -1}, f.X)
	m.Inputs = 3
	f, err = inputs.Features(set, nil, m, inputs.Keep{})
	require.NoError(t, err)
	require.Equal(t, []float32{-1, 2, 0.6, 1, 0, 0.6}, f.X)
	f, err = inputs.Features(set, []int{1}, m, inputs.Keep{})
	require.NoError(t, err)
	require.Equal(t, []float32{1, 0, 0.6}, f.X)
}
