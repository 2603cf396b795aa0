package train_test

import (
	"testing"

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
