package accountant_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/privacy/accountant"
)

// TestChainLedger: what the chain's integers say is never below the accountant's epsilon, but for
// the grain of the accountant's own orders, and the budget of what is spent pays for it.
func TestChainLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := accountant.Mechanism{SamplingRate: rapid.Float64Range(0.001, 1).Draw(t, "q"),
			NoiseMultiplier: rapid.Float64Range(0.5, 20).Draw(t, "z")}
		rounds := rapid.IntRange(1, 1000).Draw(t, "rounds")
		delta := rapid.SampledFrom([]float64{1e-9, 1e-6, 1e-4}).Draw(t, "delta")
		want, err := accountant.Epsilon(accountant.RDP, delta, accountant.Step{Mechanism: m, Rounds: rounds})
		require.NoError(t, err)
		costs, err := accountant.ChainCosts(m)
		require.NoError(t, err)
		spent := make([]uint64, len(costs))
		for i, c := range costs {
			spent[i] = c * uint64(rounds)
		}
		got, err := accountant.ChainEpsilon(spent, delta)
		require.NoError(t, err)
		require.GreaterOrEqual(t, got, want*(1-0.002), "an order of its own may beat the accountant's grid by a little")
		budget, err := accountant.ChainBudget(got*(1+1e-6), delta)
		require.NoError(t, err)
		affordable := false
		for i := range budget {
			affordable = affordable || spent[i] <= budget[i]
		}
		require.True(t, affordable, "the budget of what is spent pays for it")
	})
}

func TestChainLedgerAtThePresets(t *testing.T) {
	for z, rounds := range map[float64]int{2.67: 100, 1.604: 100, 1.87: 50} {
		m := accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: z}
		want, err := accountant.Epsilon(accountant.RDP, 1e-6, accountant.Step{Mechanism: m, Rounds: rounds})
		require.NoError(t, err)
		spent, err := accountant.ChainCosts(m)
		require.NoError(t, err)
		for i := range spent {
			spent[i] *= uint64(rounds)
		}
		got, err := accountant.ChainEpsilon(spent, 1e-6)
		require.NoError(t, err)
		require.InEpsilon(t, want, got, 0.005)
	}
}

func TestChainLedgerRefuses(t *testing.T) {
	_, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 2, NoiseMultiplier: 1})
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = accountant.ChainBudget(-1, 1e-6)
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = accountant.ChainBudget(1, 2)
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = accountant.ChainEpsilon(nil, 2)
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = accountant.ChainEpsilon([]uint64{1}, 1e-6)
	require.ErrorIs(t, err, accountant.ErrParameter)
	none, err := accountant.ChainEpsilon(nil, 1e-6)
	require.NoError(t, err)
	require.Zero(t, none)
}

// TestGreatestEpsilon: the participant that spent most counts, at whichever order its ledger is
// best.
func TestGreatestEpsilon(t *testing.T) {
	none, err := accountant.GreatestEpsilon(nil, 1e-6)
	require.NoError(t, err)
	require.Zero(t, none)
	costs, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: 2})
	require.NoError(t, err)
	twice := make([]uint64, len(costs))
	for i, c := range costs {
		twice[i] = 2 * c
	}
	want, err := accountant.ChainEpsilon(twice, 1e-6)
	require.NoError(t, err)
	got, err := accountant.GreatestEpsilon([][]uint64{costs, twice, nil, costs}, 1e-6)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = accountant.GreatestEpsilon([][]uint64{costs, {1}}, 1e-6)
	require.ErrorIs(t, err, accountant.ErrParameter)
}
