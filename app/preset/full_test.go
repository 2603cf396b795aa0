package preset_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/privacy/accountant"
)

// full returns a study whose participants take all their rows in each of its rounds.
func full(t *testing.T, rounds uint64, epsilon float64) params.Params {
	t.Helper()
	p, err := preset.External(4, preset.Study{
		Model: params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
			Tensors: []params.Tensor{{Name: "w", Shape: []uint32{10}, Init: params.InitZeros}}},
		Examples: 500, Rounds: rounds, Epsilon: epsilon, Clip: 1, SamplingRate: 1, LearningRate: 1,
	})
	require.NoError(t, err)
	_, err = p.Validate(4)
	require.NoError(t, err)
	require.NoError(t, preset.CheckLedger(p))
	return p
}

// sampled returns parameters whose rounds draw a tenth of the rows, with noise that pays for 100 rounds at
// epsilon 2.
func sampled(t *testing.T) params.Params {
	t.Helper()
	p, err := preset.New("pixels", 4)
	require.NoError(t, err)
	p.Training.Rounds, p.Privacy.SamplingRate, p.Privacy.Batch = 100, 0.1, 1500
	require.NoError(t, preset.SetEpsilon(&p, 2))
	return p
}

// TestFullBatches: the noise of full batches is that of one exact Gaussian, sqrt(rounds)/mu, and pays for
// all rounds and no more. Epsilon 1 and 4 at delta 1e-6 are mu 0.2367 and 0.8375.
func TestFullBatches(t *testing.T) {
	for epsilon, mu := range map[float64]float64{1: 0.2367, 4: 0.8375} {
		for _, rounds := range []uint64{1, 10, 100} {
			p := full(t, rounds, epsilon)
			require.InEpsilon(t, math.Sqrt(float64(rounds))/mu, p.Privacy.NoiseMultiplier, 2e-3)
			require.Equal(t, epsilon, p.Privacy.Epsilon)
			require.Equal(t, rounds, p.Privacy.Participations(nil))
			require.EqualValues(t, 500, p.Privacy.Batch)
		}
	}
}

// TestFloat64ToolsKeepParameters: a tool that reads and writes numbers as float64, such as jq, changes nothing in
// parameters, whether a column of their ledger is out of reach (of mu², for rounds that sample) or full.
func TestFloat64ToolsKeepParameters(t *testing.T) {
	least, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.5, NoiseMultiplier: 1e-6})
	require.NoError(t, err)
	most, err := accountant.ChainBudget(1e100, 1e-6)
	require.NoError(t, err)
	all := []params.Params{{Privacy: params.Privacy{Cost: least, Budget: most}}, full(t, 10, 1)}
	for _, name := range preset.Names() {
		p, err := preset.New(name, 7)
		require.NoError(t, err)
		all = append(all, p, params.Params{Privacy: params.Privacy{Cost: p.Privacy.PayFor(nil, 1<<40)}})
	}
	for _, p := range all {
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var numbers any
		require.NoError(t, json.Unmarshal(text, &numbers))
		text, err = json.Marshal(numbers)
		require.NoError(t, err)
		var kept params.Params
		require.NoError(t, json.Unmarshal(text, &kept))
		require.Equal(t, p, kept)
	}
}

// TestFullBatchesThenSampled: a chain whose epochs are full-batch throughout is judged by mu² over all of
// them. One round of another kind, before or after, leaves the divergences, which allow less.
func TestFullBatchesThenSampled(t *testing.T) {
	p := full(t, 20, 2)
	half, err := preset.EpsilonAfter(p.Privacy, 10)
	require.NoError(t, err)
	both, err := preset.EpsilonWith(p.Privacy, p.Privacy.PayFor(nil, 10), 10)
	require.NoError(t, err)
	all, err := preset.EpsilonAfter(p.Privacy, 20)
	require.NoError(t, err)
	require.Equal(t, all, both)
	require.Less(t, half, both)

	sampled := sampled(t)
	for _, spent := range [][]uint64{
		p.Privacy.PayFor(sampled.Privacy.PayFor(nil, 1), 19), sampled.Privacy.PayFor(p.Privacy.PayFor(nil, 19), 1),
	} {
		mixed, err := preset.EpsilonWith(p.Privacy, spent, 0)
		require.NoError(t, err)
		byDivergences, err := accountant.ChainEpsilon(spent[:params.LedgerColumns-1], p.Privacy.Delta)
		require.NoError(t, err)
		require.Equal(t, byDivergences, mixed)
		require.Greater(t, mixed, all, "one round in twenty was lighter")
		require.Zero(t, p.Privacy.Participations(spent))
	}
}

// TestCheckLedgerOfMu: a cost that is too low and a budget that is too high are rejected in the column of
// mu² as elsewhere. So is a sampled round that claims to be exact.
func TestCheckLedgerOfMu(t *testing.T) {
	const last = params.LedgerColumns - 1
	for says, change := range map[string]func(*params.Privacy){
		"privacy.cost[47]":   func(p *params.Privacy) { p.Cost[last] -= p.Cost[last] / 1e9 },
		"privacy.budget[47]": func(p *params.Privacy) { p.Budget[last] += p.Budget[last] / 1e9 },
	} {
		p := full(t, 10, 1)
		change(&p.Privacy)
		require.ErrorContains(t, preset.CheckLedger(p), says)
	}
	p := full(t, 10, 1)
	sampled := sampled(t)
	sampled.Privacy.Cost[last] = p.Privacy.Cost[last]
	require.ErrorContains(t, preset.CheckLedger(sampled), "privacy.cost[47]")
	p.Privacy.Cost, p.Privacy.Budget = p.Privacy.Cost[:last], p.Privacy.Budget[:last]
	require.NoError(t, preset.CheckLedger(p), "of before version 7")
}
