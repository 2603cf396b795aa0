package features_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist/features"
)

// stroke returns an image of one horizontal or vertical bar.
func stroke(side, from, to int, horizontal bool) []uint8 {
	image := make([]uint8, side*side)
	for along := 2; along < side-2; along++ {
		for across := from; across < to; across++ {
			if horizontal {
				image[across*side+along] = 255
			} else {
				image[along*side+across] = 255
			}
		}
	}
	return image
}

// A direction that tells one stroke from another is drawn bright where the first has ink, and dark
// where the second has.
func TestPictureShowsWhereStrokesSpeak(t *testing.T) {
	for _, side := range []int{14, 28, 29} {
		m, err := features.New(side)
		require.NoError(t, err)
		row := make([]float32, features.Inputs)
		direction := make([]float64, features.Inputs)
		for sign, horizontal := range map[float64]bool{1: true, -1: false} {
			m.Row(row, stroke(side, side/4, side/4+side/7, horizontal))
			for j, v := range row {
				direction[j] += sign * float64(v)
			}
		}
		picture := m.Picture(direction)
		require.Len(t, picture, side*side)
		bright, dark := 0.0, 0.0
		for i, v := range picture {
			bright += v * float64(stroke(side, side/4, side/4+side/7, true)[i])
			dark += v * float64(stroke(side, side/4, side/4+side/7, false)[i])
		}
		assert.Greater(t, bright, 0.0, "side %d", side)
		assert.Less(t, dark, 0.0, "side %d", side)
	}
}

func TestPictureIsLinear(t *testing.T) {
	m, err := features.New(14)
	require.NoError(t, err)
	a, b, sum := make([]float64, features.Inputs), make([]float64, features.Inputs), make([]float64, features.Inputs)
	for j := range a {
		a[j], b[j] = float64(j%7), float64(j%5)
		sum[j] = a[j] - 2*b[j]
	}
	pa, pb := m.Picture(a), m.Picture(b)
	for i, v := range m.Picture(sum) {
		assert.InDelta(t, pa[i]-2*pb[i], v, 1e-9)
	}
}
