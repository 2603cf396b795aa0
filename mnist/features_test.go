package mnist_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/mnist"
)

// two is two images of 2x4 pixels.
var two = mnist.Set{
	Images: []uint8{
		0, 255, 4, 8,
		255, 0, 4, 8,

		1, 0, 0, 255,
		0, 0, 0, 0,
	},
	Labels: []uint8{3, 7},
	Rows:   2,
	Cols:   4,
}

func TestFeatures(t *testing.T) {
	pixels, err := two.Features(1, 0, 100)
	require.NoError(t, err)
	assert.Equal(t, 8, pixels.Inputs)
	assert.Equal(t, []float32{0, 2.55, 0.04, 0.08, 2.55, 0, 0.04, 0.08}, pixels.Row(0))
	assert.Equal(t, two.Labels, pixels.Labels)

	centred, err := two.Features(1, 50, 50)
	require.NoError(t, err)
	assert.Equal(t, float32(-1), centred.X[0])
	assert.Equal(t, float32(4.1), centred.X[1])

	pooled, err := two.Features(2, 0, 255)
	require.NoError(t, err)
	assert.Equal(t, 2, pooled.Inputs)
	assert.Equal(t, 2, pooled.Len())
	assert.Equal(t, []float32{0.5, 6.0 / 255, 0.25 / 255, 63.75 / 255}, pooled.X)
	assert.Equal(t, []float32{0.25 / 255, 63.75 / 255}, pooled.Row(1))
}

func TestFeaturesErrors(t *testing.T) {
	for _, c := range []struct {
		pool  int
		mean  float64
		scale float64
		want  string
	}{
		{0, 0, 255, "mnist: bad feature map: pool 0, want a divisor of both sides of 2x4"},
		{-1, 0, 255, "mnist: bad feature map: pool -1, want a divisor of both sides of 2x4"},
		{4, 0, 255, "mnist: bad feature map: pool 4, want a divisor of both sides of 2x4"},
		{2, 0, 0, "mnist: bad feature map: scale 0, want a positive finite number"},
		{2, 0, math.NaN(), "mnist: bad feature map: scale NaN, want a positive finite number"},
		{2, math.NaN(), 1, "mnist: bad feature map: mean NaN, want a finite number"},
		{2, 0, math.Inf(1), "mnist: bad feature map: scale +Inf, want a positive finite number"},
	} {
		_, err := two.Features(c.pool, c.mean, c.scale)
		require.ErrorIs(t, err, mnist.ErrFeatures)
		assert.EqualError(t, err, c.want)
	}
}

func TestInputs(t *testing.T) {
	for pool, want := range map[int]int{1: 784, 2: 196, 4: 49, 28: 1} {
		got, err := mnist.Inputs(28, 28, pool)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestSubsetCopies(t *testing.T) {
	sub := two.Subset([]int{1, 0, 1})
	assert.Equal(t, []uint8{7, 3, 7}, sub.Labels)
	assert.Equal(t, two.Image(1), sub.Image(2))
	sub.Image(0)[0] = 99
	assert.Equal(t, uint8(1), two.Image(1)[0])
	assert.PanicsWithValue(t, "mnist: index 2 outside [0, 2)", func() { two.Subset([]int{2}) })
}

func TestBatch(t *testing.T) {
	f, err := two.Features(2, 0, 1)
	require.NoError(t, err)
	x, marks := f.Batch(nil, nil, []int{1, 0})
	assert.Equal(t, []float32{0.25, 63.75, 127.5, 6}, x)
	assert.Equal(t, []uint8{7, 3}, marks)
	again, marks := f.Batch(x[:0], marks[:0], []int{0})
	assert.Equal(t, []float32{127.5, 6}, again)
	assert.Equal(t, []uint8{3}, marks)
	assert.Same(t, &x[0], &again[0])
	assert.PanicsWithValue(t, "mnist: index -1 outside [0, 2)", func() { f.Batch(nil, nil, []int{-1}) })
}

// Pooling takes means: the mean over a whole image does not change, and the order of rows does not
// matter.
func TestPoolingKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := rapid.IntRange(1, 4).Draw(t, "pool")
		rows := pool * rapid.IntRange(1, 4).Draw(t, "rows")
		cols := pool * rapid.IntRange(1, 4).Draw(t, "cols")
		set := mnist.Set{
			Images: rapid.SliceOfN(rapid.Uint8(), rows*cols, rows*cols).Draw(t, "image"),
			Labels: []uint8{0}, Rows: rows, Cols: cols,
		}
		f, err := set.Features(pool, 0, 255)
		require.NoError(t, err)
		var want, got float64
		for _, p := range set.Images {
			want += float64(p) / 255 / float64(len(set.Images))
		}
		for _, v := range f.X {
			got += float64(v) / float64(len(f.X))
		}
		require.InDelta(t, want, got, 1e-6)
	})
}
