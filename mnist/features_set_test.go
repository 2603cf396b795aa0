package mnist_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

func TestStrokes(t *testing.T) {
	s := digits(t, 28, 600)
	var told []int
	f, err := features.Strokes(s, func(done int) error { told = append(told, done); return nil })
	require.NoError(t, err)
	assert.Len(t, told, 3)
	assert.IsIncreasing(t, told)
	assert.Equal(t, 600, told[2])
	assert.Equal(t, s.Labels, f.Labels)
	assert.Equal(t, features.Inputs, f.Inputs)

	m, err := features.New(28)
	require.NoError(t, err)
	row := make([]float32, features.Inputs)
	for i := range s.Len() {
		m.Row(row, s.Image(i))
		require.Equal(t, row, f.Row(i), "image %d", i)
	}
	before := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(before)
	again, err := features.Strokes(s, nil)
	require.NoError(t, err)
	assert.Equal(t, f, again)
}

func TestStrokesOfNothingAndOfOtherShapes(t *testing.T) {
	f, err := features.Strokes(mnist.Set{Rows: 28, Cols: 28}, nil)
	require.NoError(t, err)
	assert.Zero(t, f.Len())
	_, err = features.Strokes(mnist.Set{Rows: 28, Cols: 14}, nil)
	require.ErrorIs(t, err, mnist.ErrFeatures)
	assert.EqualError(t, err, "mnist: bad feature map: strokes of images of 28x14, want a square")
	_, err = features.Strokes(mnist.Set{Rows: 4, Cols: 4}, nil)
	require.ErrorIs(t, err, mnist.ErrFeatures)
}

// TestProgressEnds: an error of progress ends the computation of a large set early.
func TestProgressEnds(t *testing.T) {
	s, over, calls := digits(t, 28, 1).Subset(make([]int, 20_000)), errors.New("over"), 0
	_, err := features.Strokes(s, func(done int) error {
		calls++
		require.Less(t, done, s.Len()/10)
		return over
	})
	require.ErrorIs(t, err, over)
	require.Equal(t, 1, calls)
}
