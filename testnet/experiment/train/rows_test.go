package train

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
)

// TestAttackersRows: without any other participant's rows the attackers know nearly where the training
// ends, and imagine as many vectors as there are honest ones, with the mechanism's norm.
func TestAttackersRows(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	index := make([]int, 4000)
	for i := range index {
		index[i] = i
	}
	p, err := preset.Make("default", 7, preset.Own{Examples: len(index) / 7})
	require.NoError(t, err)
	all, err := NewParticipants(Spec{Params: p, Nodes: 7, Byzantine: 2, Attack: "hidden-drift+planned"},
		data.Train.Subset(index))
	require.NoError(t, err)
	begin := make([]float64, p.Model.Dim())
	end := all.rows.expected(begin)
	require.Equal(t, end, all.rows.expected(end), "of the first call")
	test, err := all.spec.Inputs(data.Test)
	require.NoError(t, err)
	first := make([]int, 1000)
	for i := range first {
		first[i] = i
	}
	accuracy, err := all.spec.accuracy(test, first, end)
	require.NoError(t, err)
	require.Greater(t, accuracy, 0.9)

	imagined := all.imagined(begin)
	require.Len(t, imagined, 5)
	admits, _ := attack.Admission(p, 0)
	for i, v := range imagined {
		require.True(t, admits.Holds(v))
		require.NotContains(t, imagined[:i], v)
		require.NotContains(t, all.honestly(begin)[2:], v)
	}
}
