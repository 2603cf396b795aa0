package train_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// TestOnNodes: a training with two kinds of partition and an attack that sees
// everybody ends on real nodes in the model of the simulation, bit for bit.
func TestOnNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs nets")
	}
	data, err := mnist.Embedded() // what the nodes train on
	require.NoError(t, err)
	for _, alpha := range []float64{0, 1} {
		s, err := train.Paper(train.DP, 4) // the mean: every gradient counts
		require.NoError(t, err)
		s.Params.Training.Rounds, s.Alpha, s.Byzantine, s.Attack, s.Seed = 5, alpha, 1, "minus-mean", 3
		rows, model, err := train.OnNodes(t.Context(), s, data)
		require.NoError(t, err)
		require.Len(t, rows, 5)
		require.Equal(t, 4.0, rows[4][1], "all took part")
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.Equal(t, out.Model, model)
		s.Attack = "sign-flip"
		other, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.NotEqual(t, other.Model, model)
	}
	s, err := train.Paper(train.SPDL, 4)
	require.NoError(t, err)
	s.Params.Model.Hidden = 3
	_, _, err = train.OnNodes(t.Context(), s, data)
	require.ErrorContains(t, err, "3 hidden units")
}

// TestShiftOnNodes: leaders that use all of the tolerance do so on real nodes as in the simulation,
// and the model is another than the honest leaders'.
func TestShiftOnNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	data, err := mnist.Embedded()
	require.NoError(t, err)
	s, err := train.Preset("pixels", 4)
	require.NoError(t, err)
	s.Params.Training.Rounds, s.Params.Rule.Tolerance, s.Shift, s.Seed = 4, 2, true, 3
	_, model, err := train.OnNodes(t.Context(), s, data)
	require.NoError(t, err)
	out, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.Equal(t, out.Model, model)
	s.Shift = false
	honest, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.NotEqual(t, honest.Model, model)
}

// TestTime: a step that is longer makes the first stage longer, and the round is the sum of all.
func TestTime(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	rows, err := train.Time(t.Context(), 4, 2, 700*time.Millisecond, 1)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for _, row := range rows {
		require.GreaterOrEqual(t, row[1], 700.0, "T_LGC")
		require.InDelta(t, row[1]+row[2]+row[3], row[4], 1e-6)
	}
}
