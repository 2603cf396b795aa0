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
	distance := mat.NewSymDense(len(points), nil)
	for i, p := range points {
		for j, q := range points {
			distance.SetSym(i, j, math.Hypot(p[0]-q[0], p[1]-q[1]))
		}
	}
	places, kept := onPlane(distance)
	require.InDelta(t, 1, kept, 1e-12)
	for i, p := range places {
		for j, q := range places {
			require.InDelta(t, distance.At(i, j), math.Hypot(p[0]-q[0], p[1]-q[1]), 1e-9)
		}
	}
	again, _ := onPlane(distance)
	require.Equal(t, places, again)
	require.Positive(t, places[3][0], "the largest coordinate of an axis is positive")
	for n := range 3 { // points at one place, and a single one
		places, kept = onPlane(mat.NewSymDense(n+1, nil))
		require.Equal(t, make([][2]float64, n+1), places)
		require.Zero(t, kept)
	}
	places, kept = onPlane(mat.NewSymDense(2, []float64{0, 5, 5, 0}))
	require.InDelta(t, 5, math.Abs(places[0][0]-places[1][0]), 1e-12)
	require.InDelta(t, 1, kept, 1e-12)
}
