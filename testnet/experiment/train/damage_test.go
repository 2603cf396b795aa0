package train_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/experiment/train/traintest"
)

// TestDamage: after the last round alone, attackers with a backdoor have every triggered image
// called the trigger's class, which without attackers few are; the worst class is no better than
// the mean.
func TestDamage(t *testing.T) {
	data := traintest.Task(t)
	after := func(byzantine int) (backdoor float64) {
		s := traintest.Spec(t, "default", 7, byzantine, "aware+hidden-backdoor", func(p *params.Params) {
			p.Training.Rounds,
				p.Election.CommitReveal = 8, false
		})
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.True(t, math.IsNaN(at(t, s, out.Rows[6], "backdoor")))
		last := out.Rows[7]
		require.GreaterOrEqual(t, at(t, s, last, "worst_class"), at(t, s, last, "test_error"))
		require.Zero(t, at(t, s, last, "refused"))
		return at(t, s, last, "backdoor")
	}
	require.Greater(t, after(2), 0.95)
	require.Less(t, after(0), 0.5)
}
