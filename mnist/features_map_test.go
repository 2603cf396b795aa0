package mnist_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

// noise is n random images of which about two thirds of the pixels are background.
func noise(side, n int, seed uint64) mnist.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := mnist.Set{Images: make([]uint8, n*side*side), Labels: make([]uint8, n), Rows: side, Cols: side}
	for i := range s.Images {
		s.Images[i] = uint8(max(0, rng.IntN(765)-510))
	}
	return s
}

// digits returns the first n images of MNIST's test set, in frames of zeros or halved.
func digits(tb testing.TB, side, n int) mnist.Set {
	data, err := mnist.Embedded()
	require.NoError(tb, err)
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return resized(tb, data.Test.Subset(index), side)
}

// resized returns a set of 28x28 images at another size: halved, or with a frame of zeros.
func resized(tb testing.TB, s mnist.Set, side int) mnist.Set {
	if side == 28 {
		return s
	}
	out := mnist.Set{Images: make([]uint8, s.Len()*side*side), Labels: s.Labels, Rows: side, Cols: side}
	if side == 14 {
		means, err := s.Features(2, 0, 1)
		require.NoError(tb, err)
		for i, v := range means.X {
			out.Images[i] = uint8(math.Round(float64(v)))
		}
		return out
	}
	require.Greater(tb, side, 28)
	for i := range s.Len() {
		for y := range 28 {
			copy(out.Image(i)[(y+(side-28)/2)*side+(side-28)/2:], s.Image(i)[28*y:][:28])
		}
	}
	return out
}

func distance(want []float64, got []float32) float64 {
	square, norm := 0.0, 0.0
	for i, v := range want {
		square += (v - float64(got[i])) * (v - float64(got[i]))
		norm += v * v
	}
	return math.Sqrt(square / max(norm, 1e-300))
}

// The reference's own float64 responses that should be 0 are about 1e-17, whose power is 1e-6;
// float32 rounds to 6e-8.
const tolerance = 1e-5

func TestMapAgainstReference(t *testing.T) {
	for name, s := range map[string]mnist.Set{
		"noise/n=8":   noise(8, 20, 1),
		"noise/n=9":   noise(9, 20, 2),
		"noise/n=14":  noise(14, 20, 3),
		"noise/n=27":  noise(27, 10, 4),
		"noise/n=28":  noise(28, 10, 5),
		"noise/n=32":  noise(32, 10, 6),
		"digits/n=14": digits(t, 14, 30),
		"digits/n=28": digits(t, 28, 30),
		"digits/n=32": digits(t, 32, 10),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := features.New(s.Rows)
			require.NoError(t, err)
			block, row := make([]float32, features.Blocks), make([]float32, features.Inputs)
			for i := range s.Len() {
				want := referenceBlock(s.Rows, s.Image(i))
				m.Block(block, s.Image(i))
				m.Row(row, s.Image(i))
				require.Less(t, distance(want, block), tolerance, "blocks of image %d", i)
				require.Less(t, distance(referenceRow(t, want), row), tolerance, "features of image %d", i)
			}
		})
	}
}

// An image without a stroke has no block features; what remains of it is the public mean.
func TestEmptyImage(t *testing.T) {
	m, err := features.New(28)
	require.NoError(t, err)
	block, row := make([]float32, features.Blocks), make([]float32, features.Inputs)
	m.Row(row, digits(t, 28, 1).Images) // leaves traces in scratch memory
	m.Block(block, make([]uint8, 28*28))
	assert.Equal(t, make([]float32, features.Blocks), block)
	m.Row(row, make([]uint8, 28*28))
	assert.Less(t, distance(referenceRow(t, make([]float64, features.Blocks)), row), tolerance)
}

// A map is tables and scratch memory: what it computed before does not show.
func TestMapsHaveNoMemory(t *testing.T) {
	m, err := features.New(28)
	require.NoError(t, err)
	s := digits(t, 28, 2)
	first, again := make([]float32, features.Inputs), make([]float32, features.Inputs)
	m.Row(first, s.Image(0))
	m.Row(again, s.Image(1))
	assert.NotEqual(t, first, again)
	m.Row(again, s.Image(0))
	assert.Equal(t, first, again)
}

// Features do not depend on how strong the ink is, but for the 1e-6 beside the norms and the
// rounding of grey levels.
func TestContrastDoesNotMatter(t *testing.T) {
	m, err := features.New(28)
	require.NoError(t, err)
	faint := noise(28, 1, 1)
	for i := range faint.Images {
		faint.Images[i] /= 2
	}
	strong := faint.Subset([]int{0})
	for i := range strong.Images {
		strong.Images[i] *= 2
	}
	a, b := make([]float32, features.Inputs), make([]float64, features.Inputs)
	m.Row(a, strong.Images)
	for i, v := range a {
		b[i] = float64(v)
	}
	m.Row(a, faint.Images)
	assert.Less(t, distance(b, a), tolerance)
}

func TestShapes(t *testing.T) {
	for side, want := range map[int]string{
		-1:   "mnist: bad feature map: strokes of images of side -1, want 8 to 1024",
		7:    "mnist: bad feature map: strokes of images of side 7, want 8 to 1024",
		1025: "mnist: bad feature map: strokes of images of side 1025, want 8 to 1024",
	} {
		_, err := features.New(side)
		require.ErrorIs(t, err, mnist.ErrFeatures)
		assert.EqualError(t, err, want)
	}
	m, err := features.New(28)
	require.NoError(t, err)
	assert.PanicsWithValue(t, "features: destination of 159, want 160",
		func() { m.Row(make([]float32, 159), make([]uint8, 784)) })
	assert.PanicsWithValue(t, "features: destination of 512 and 783 pixels, want 512 and 784", func() {
		m.Row(make([]float32, 160), make([]uint8, 783))
	})
}
