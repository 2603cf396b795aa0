package abci_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
)

// TestTheRuleRunsWithTheLastGradient: a node runs the rule when the last gradient has come, before
// anybody asks for a draft. Gradients that are overwritten after it show that it does not run again.
func TestTheRuleRunsWithTheLastGradient(t *testing.T) {
	foreseen := func(wait time.Duration) bool {
		n, plain := begin(t, 4), begin(t, 4)
		for i := range 4 {
			require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(n.State(), i)).Code)
			require.Equal(t, abci.CodeOK, plain.check(apptest.Gradient(n.State(), i)).Code)
		}
		first := n.State().Progress.Ranking[0]
		want, err := plain.Draft(first)
		require.NoError(t, err)
		time.Sleep(wait)
		for _, held := range n.AllHeld() {
			v, err := held.Vector(n.State().Grid().Width, len(n.State().Model))
			require.NoError(t, err)
			for k := range v.Len() {
				v.Set(k, 0)
			}
		}
		got, err := n.Draft(first)
		require.NoError(t, err)
		return string(got.Digest) == string(want.Digest)
	}
	wait := time.Millisecond
	for !foreseen(wait) {
		wait *= 2
		require.Less(t, wait, 10*time.Second)
	}
}
