package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFigureOfRuns: lines have looks of their own, and of shares that are all high the axis begins below the smallest.
func TestFigureOfRuns(t *testing.T) {
	f := Figure{Name: "accuracy", Title: "Test accuracy", Share: true, Top: 1, Legend: "A line for each run."}
	f.Curves = []Curve{{Name: "a", Rounds: []uint64{1, 2}, Values: []float64{0.91, 0.97}},
		{Name: "b", Rounds: []uint64{1, 2}, Values: []float64{0.95, 0.98}}}
	drawn, err := f.HTML()
	require.NoError(t, err)
	require.Contains(t, drawn, "A line for each run; the axis begins at 90 %")
	require.Contains(t, drawn, `class="of- look-1"`)
	f.Curves[1].Values[0] = 0.1
	drawn, err = f.HTML()
	require.NoError(t, err)
	require.Contains(t, drawn, "A line for each run.")
}
