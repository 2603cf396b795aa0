package chainview

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestPlaneKeepsDistances: points of a plane are drawn at their distances, and alike each time.
func TestPlaneKeepsDistances(t *testing.T) {
	points := [][2]float64{{0, 0}, {3, 4}, {-1, 7}, {20, 1}, {5, -5}}
	squared := mat.NewSymDense(len(points), nil)
	for i, p := range points {
		for j, q := range points {
			squared.SetSym(i, j, (p[0]-q[0])*(p[0]-q[0])+(p[1]-q[1])*(p[1]-q[1]))
		}
	}
	places, kept := onPlane(squared)
	require.InDelta(t, 1, kept, 1e-12)
	for i, p := range places {
		for j, q := range places {
			require.InDelta(t, math.Sqrt(squared.At(i, j)), math.Hypot(p[0]-q[0], p[1]-q[1]), 1e-9)
		}
	}
	again, _ := onPlane(squared)
	require.Equal(t, places, again)
	require.Positive(t, places[3][0], "the largest coordinate of an axis is positive")
}
