package preset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// TestLiteral: the preset paper-literal differs from the preset paper exactly where the paper's
// text does.
func TestLiteral(t *testing.T) {
	for _, n := range []int{1, 4, 10, 20} {
		paper, err := preset.New("paper", n)
		require.NoError(t, err)
		p, err := preset.New("paper-literal", n)
		require.NoError(t, err)
		require.True(t, p.Rule.Zeros)
		require.True(t, p.Rule.Unsquared)
		require.Equal(t, p.Training.Rounds, p.Election.Term)
		require.Zero(t, p.Reputation.Reward)
		require.Zero(t, p.Reputation.Margin)
		require.Zero(t, p.Reputation.PassedOver)
		require.Positive(t, p.Reputation.Penalty)
		require.Zero(t, p.Training.Momentum+p.Training.WeightDecay, "x <- x - gamma Delta")
		warnings, err := p.Validate(n)
		require.NoError(t, err)
		said := strings.Join(warnings, "\n")
		for _, word := range []string{"rule.zeros", "rule.unsquared", "NO DP GUARANTEE"} {
			require.Contains(t, said, word)
		}
		p.Preset, p.Rule.Zeros, p.Rule.Unsquared = paper.Preset, false, false
		p.Training.Momentum, p.Training.WeightDecay = paper.Training.Momentum, paper.Training.WeightDecay
		p.Reputation, p.Election.Term = paper.Reputation, 1
		require.Equal(t, paper, p)
	}
}

// TestLemma1: the noise is the lemma's, T gamma sqrt(2 ln(1.25/delta))/epsilon = 264.9 clip norms
// at the paper's epsilon 0.02, and the budget is the accountant's, which is more than seven times the
// claim. Both depend on the number of rounds.
func TestLemma1(t *testing.T) {
	p, err := preset.New("paper-lemma1", 10)
	require.NoError(t, err)
	require.InDelta(t, 264.94, p.Privacy.NoiseMultiplier, 0.01)
	require.Equal(t, 0.02, p.Privacy.Lemma1Epsilon)
	require.InDelta(t, 0.15, p.Privacy.Epsilon, 1e-9)
	require.NoError(t, preset.CheckLedger(p))
	warnings, err := p.Validate(10)
	require.NoError(t, err)
	require.Contains(t, strings.Join(warnings, "\n"), "Lemma 1 claims of the noise, NO GUARANTEE; by the accountant it "+
		"is privacy.epsilon 0.15 at delta 1e-06")

	preset.SetRounds(&p, 400)
	p.Privacy.Epsilon = 0
	require.ErrorContains(t, preset.CheckLedger(p), "Lemma 1 asks for 1059.7",
		"noise of 100 rounds under the claim for 400")
	require.NoError(t, preset.Account(&p))
	require.InDelta(t, 4*264.94, p.Privacy.NoiseMultiplier, 0.01)
	require.Equal(t, uint64(400), p.Election.Term)
	require.NoError(t, preset.CheckLedger(p))
	_, err = p.Validate(10)
	require.NoError(t, err, "the grid follows the noise")

	p.Privacy.Cost, p.Privacy.Budget, p.Privacy.Epsilon, p.Privacy.Delta = nil, nil, 0, 0
	_, err = p.Validate(10)
	require.ErrorContains(t, err, "lemma1_epsilon is 0.02 without a ledger")
}

// TestSetRounds: a leader's term follows the rounds only if it is the whole training.
func TestSetRounds(t *testing.T) {
	for _, c := range []struct{ term, rounds, want uint64 }{{1, 100, 1}, {10, 100, 10}, {100, 100, 7}, {1, 1, 1}} {
		p := params.Params{Training: params.Training{Rounds: c.rounds}, Election: params.Election{Term: c.term}}
		preset.SetRounds(&p, 7)
		require.Equal(t, uint64(7), p.Training.Rounds)
		require.Equal(t, c.want, p.Election.Term)
	}
}
