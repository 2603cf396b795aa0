package abci_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
)

// TestTheRuleRunsWithTheLastGradient: a node runs the rule when the last gradient has arrived,
// before the first request for a draft. The test then overwrites the gradients, which shows that
// the rule does not run again.
func TestTheRuleRunsWithTheLastGradient(t *testing.T) {
	n, plain := begin(t, 4), begin(t, 4)
	for i := range 4 {
		require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(n.State(), i)).Code)
		require.Equal(t, abci.CodeOK, plain.check(apptest.Gradient(n.State(), i)).Code)
	}
	n.AwaitForeseen()
	for _, held := range n.PoolTxs() {
		v, err := held.Vector(n.State().Grid().Width, len(n.State().Model))
		require.NoError(t, err)
		for k := range v.Len() {
			v.Set(k, 0)
		}
	}
	first := n.State().Progress.Ranking[0]
	want, err := plain.Draft(first)
	require.NoError(t, err)
	got, err := n.Draft(first)
	require.NoError(t, err)
	require.Equal(t, want.Digest, got.Digest)
}
