package train

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// TestMeasure compares the measures with hand-made ones: chances of 0.25, 0.5, 0.5 and 0.75.
func TestMeasure(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelMean: 1, PixelScale: 1}
	set := mnist.Set{Rows: 1, Cols: 1, Images: []uint8{0, 1, 1, 2}, Labels: []uint8{0, 0, 1, 1}}
	q, err := Measure(m, []float64{0, math.Log(3), 0, 0}, set)
	require.NoError(t, err)
	require.InDelta(t, 3.5/4, q.AUC, 1e-9, "one of four pairs is tied")
	require.InDelta(t, 3./4, q.Accuracy, 1e-9, "a tie is class 0")
	require.InDelta(t, (2./16+2./4)/4, q.Brier, 1e-9)
	require.InDelta(t, (0.25+0+0.25)/4, q.ECE, 1e-9)
	m.Classes = 3
	_, err = Measure(m, nil, set)
	require.ErrorContains(t, err, "want softmax with biases and two")
}
