package accountant_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/privacy/accountant"
)

// paid returns the ledger after rounds of the same costs. An entry above ChainMost stays: it says
// nothing.
func paid(costs []uint64, rounds int) []uint64 {
	spent := slices.Clone(costs)
	for i, c := range costs {
		if c <= accountant.ChainMost {
			spent[i] = c * uint64(rounds)
		}
	}
	return spent
}

// TestChainLedger: what the chain's integers say is never below the accountant's epsilon, but for
// the grain of the accountant's own orders, and the budget of what is spent pays for it.
func TestChainLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := accountant.Mechanism{SamplingRate: rapid.Float64Range(0.001, 1).Draw(t, "q"),
			NoiseMultiplier: rapid.Float64Range(0.5, 20).Draw(t, "z")}
		rounds := rapid.IntRange(1, 1000).Draw(t, "rounds")
		delta := rapid.SampledFrom([]float64{1e-9, 1e-6, 1e-4}).Draw(t, "delta")
		want, err := accountant.Epsilon(accountant.ChainMethod(m.SamplingRate), delta,
			accountant.Step{Mechanism: m, Rounds: rounds})
		require.NoError(t, err)
		costs, err := accountant.ChainCosts(m)
		require.NoError(t, err)
		spent := paid(costs, rounds)
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
		costs, err := accountant.ChainCosts(m)
		require.NoError(t, err)
		got, err := accountant.ChainEpsilon(paid(costs, rounds), 1e-6)
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
	for _, columns := range []int{1, 46, 49} {
		_, err = accountant.ChainEpsilon(make([]uint64, columns), 1e-6)
		require.ErrorIs(t, err, accountant.ErrParameter)
	}
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
	twice := paid(costs, 2)
	want, err := accountant.ChainEpsilon(twice, 1e-6)
	require.NoError(t, err)
	got, err := accountant.GreatestEpsilon([][]uint64{costs, twice, nil, costs}, 1e-6)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = accountant.GreatestEpsilon([][]uint64{costs, {1}}, 1e-6)
	require.ErrorIs(t, err, accountant.ErrParameter)
}

// TestChainLedgerOfMixedRounds: one sampled round takes the column of mu² away, whatever its share of
// the spend, so that the divergences decide. A ledger without the column says what its divergences
// say, and one whose entries are all cut off claims nothing.
func TestChainLedgerOfMixedRounds(t *testing.T) {
	full, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 1, NoiseMultiplier: 20})
	require.NoError(t, err)
	sampled, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.001, NoiseMultiplier: 50})
	require.NoError(t, err)
	spent, last := paid(full, 20), len(full)-1
	exact, err := accountant.ChainEpsilon(spent, 1e-6)
	require.NoError(t, err)
	divergences, err := accountant.ChainEpsilon(spent[:last], 1e-6)
	require.NoError(t, err)
	require.Less(t, exact, 0.95*divergences)
	for i, c := range sampled {
		spent[i] += c
	}
	mixed, err := accountant.ChainEpsilon(spent, 1e-6)
	require.NoError(t, err)
	require.InEpsilon(t, divergences, mixed, 1e-3)
	require.GreaterOrEqual(t, mixed, divergences)

	budget, err := accountant.ChainBudget(1e100, 1e-6)
	require.NoError(t, err)
	require.Less(t, budget[last], sampled[last], "no epsilon pays for it")
	least, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.5, NoiseMultiplier: 1e-6})
	require.NoError(t, err)
	for i := range least {
		require.Equal(t, uint64(accountant.ChainMost), budget[i])
		require.Less(t, budget[i], least[i], "no epsilon pays for what a column cannot hold")
	}
	all, err := accountant.ChainEpsilon(least, 1e-6)
	require.NoError(t, err)
	require.Equal(t, 1e100, all)
}
