package app_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

func TestGenesisRoundTrip(t *testing.T) {
	g := apptest.Genesis(4, apptest.Params(4))
	data, err := g.Encode()
	require.NoError(t, err)
	again, err := app.DecodeGenesis(data)
	require.NoError(t, err)
	require.Equal(t, g, again)
	_, err = app.DecodeGenesis([]byte(strings.Replace(string(data), `"learning_rate"`, `"learning_rat"`, 1)))
	require.ErrorContains(t, err, "learning_rat")
	_, err = app.DecodeGenesis(nil)
	require.ErrorIs(t, err, app.ErrGenesis)
}

// TestGenesisRefuses: each error names the field, the value and the bound.
func TestGenesisRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		mutate func(*app.Genesis)
	}{
		{"seed has 31 bytes", func(g *app.Genesis) { g.Seed = g.Seed[:31] }},
		{"participants 0 and 3 have one key", func(g *app.Genesis) {
			g.Participants[3].PubKey, g.Participants[3].Id = g.Participants[0].PubKey, g.Participants[0].Id
		}},
		{"index is 7, want 1", func(g *app.Genesis) { g.Participants[1].Index = 7 }},
		{"pub_key has 3 bytes", func(g *app.Genesis) { g.Participants[1].PubKey = []byte{1, 2, 3} }},
		{"consensus_key has 5 bytes", func(g *app.Genesis) { g.Participants[1].ConsensusKey = make([]byte, 5) }},
		{"moniker has 71 bytes", func(g *app.Genesis) { g.Participants[1].Moniker = strings.Repeat("x", 71) }},
		{"reputation is 5", func(g *app.Genesis) { g.Participants[1].Reputation = 5 }},
		{"joined 4", func(g *app.Genesis) { g.Participants[1].Joined = 4 }},
		{`model.kind is "cnn"`, func(g *app.Genesis) { g.Params.Model.Kind = "cnn" }},
		{"model.hidden is 3", func(g *app.Genesis) { g.Params.Model.Hidden = 3 }},
		{"1 classes", func(g *app.Genesis) { g.Params.Model.Classes = 1 }},
		{"too large", func(g *app.Genesis) { g.Params.Model.Inputs = 3 << 20 }},
		{"model.pool is 0", func(g *app.Genesis) { g.Params.Model.Pool = 0 }},
		{"pixel_scale is -1", func(g *app.Genesis) { g.Params.Model.PixelScale = -1 }},
		{"pixel_mean is NaN", func(g *app.Genesis) { g.Params.Model.PixelMean = math.NaN() }},
		{"grid.width is 3", func(g *app.Genesis) { g.Params.Grid.Width = 3 }},
		{"grid.step is 0", func(g *app.Genesis) { g.Params.Grid.Step = 0 }},
		{"training.rounds is 0", func(g *app.Genesis) { g.Params.Training.Rounds = 0 }},
		{"learning_rate is +Inf", func(g *app.Genesis) { g.Params.Training.LearningRate = math.Inf(1) }},
		{"training.momentum is 1", func(g *app.Genesis) { g.Params.Training.Momentum = 1 }},
		{"weight_decay is NaN", func(g *app.Genesis) { g.Params.Training.WeightDecay = math.NaN() }},
		{"noise_multiplier 0", func(g *app.Genesis) { g.Params.Privacy.NoiseMultiplier = 0 }},
		{"prototype_epsilon is 0", func(g *app.Genesis) { g.Params.Privacy.Mechanism = "prototype" }},
		{"prototype_epsilon is 1, want 0", func(g *app.Genesis) { g.Params.Privacy.PrototypeEpsilon = 1 }},
		{"noise_multiplier is 1, want 0", func(g *app.Genesis) { g.Params.Privacy.Mechanism = "none" }},
		{"preset has 71 bytes, at most 70", func(g *app.Genesis) { g.Params.Preset = strings.Repeat("x", 71) }},
		{"preset \"a\\x1b\" has the character U+001B", func(g *app.Genesis) { g.Params.Preset = "a\x1b" }},
		{"election.term is 1048577", func(g *app.Genesis) { g.Params.Election.Term = 1<<20 + 1 }},
		{"view_blocks 1048577", func(g *app.Genesis) { g.Params.Election.ViewBlocks = 1<<20 + 1 }},
		{"quorum_blocks 18446744073709551615, at most 1048576", func(g *app.Genesis) { g.Params.Election.QuorumBlocks = 1<<64 - 1 }},
		{`mechanism is "laplace"`, func(g *app.Genesis) { g.Params.Privacy.Mechanism = "laplace" }},
		{"privacy.batch is 0", func(g *app.Genesis) { g.Params.Privacy.Batch = 0 }},
		{"sampling_rate is 1.5", func(g *app.Genesis) { g.Params.Privacy.SamplingRate = 1.5 }},
		{"worker_momentum is 1", func(g *app.Genesis) { g.Params.Privacy.WorkerMomentum = 1 }},
		{"privacy.clip is -1", func(g *app.Genesis) {
			g.Params.Privacy.Mechanism, g.Params.Privacy.NoiseMultiplier, g.Params.Privacy.Clip = "none", 0, -1
		}},
		{"want SHA-256 of pub_key", func(g *app.Genesis) { g.Participants[3].Id = g.Participants[0].Id }},
		{"participants 1 and 2 have one key", func(g *app.Genesis) { g.Participants[2].VrfKey = g.Participants[1].VrfKey }},
		{"participants 1 and 2 have one key", func(g *app.Genesis) { g.Participants[2].ConsensusKey = g.Participants[1].ConsensusKey }},
		{"vrf_key: invalid VRF key", func(g *app.Genesis) { g.Participants[2].VrfKey = make([]byte, 32) }},
		{"does not print", func(g *app.Genesis) { g.Participants[2].Moniker = "a\x1b[2J" }},
		{"is not UTF-8", func(g *app.Genesis) { g.Participants[2].Address = "\xff" }},
		{"for a chain that runs", func(g *app.Genesis) { g.Participants[2].SettledRound = 1 }},
		{"reputation.initial is 0", func(g *app.Genesis) {
			g.Params.Reputation.Initial = 0
			for i := range g.Participants {
				g.Participants[i].Reputation = 0
			}
		}},
		{"reputation.penalty is -1", func(g *app.Genesis) { g.Params.Reputation.Penalty = -1 }},
		{"election.term is 0", func(g *app.Genesis) { g.Params.Election.Term = 0 }},
		{"unknown", func(g *app.Genesis) { g.Params.Rule.Name = "crum" }},
		{"rule.byzantine is 2 with 4 participants, at most 1", func(g *app.Genesis) { g.Params.Rule.Byzantine = 2 }},
		{"rule.tolerance is -1", func(g *app.Genesis) { g.Params.Rule.Tolerance = -1 }},
		{"grid.step 1e-12 is too small for the noise", func(g *app.Genesis) { noisy(&g.Params); g.Params.Grid.Step = 1e-12 }},
		{"4 participants takes blocks of", func(g *app.Genesis) {
			g.Params.Model, g.Params.Grid.Step, g.Params.Rule.Tolerance = params.Model{Kind: params.ModelSoftmax, Inputs: 1_048_000, Classes: 2, Pool: 1, PixelScale: 255}, 1e-9, 1
		}},
		{"lets a leader shift Delta", func(g *app.Genesis) { g.Params.Rule.Tolerance = 50 }},
		{"cannot aggregate", func(g *app.Genesis) {
			g.Params.Rule.Name = "krum"
			g.Participants = g.Participants[:1]
			g.Params.Rule.Byzantine = 0
		}},
	} {
		g := apptest.Genesis(4, apptest.Params(4))
		c.mutate(&g)
		_, err := g.Validate()
		require.ErrorIs(t, err, app.ErrGenesis, c.want)
		require.ErrorContains(t, err, c.want)
	}
}

func TestGenesisWarns(t *testing.T) {
	warn := func(n int, mutate func(*params.Params)) string {
		warnings, err := apptest.Genesis(n, apptest.Params(n, mutate)).Validate()
		require.NoError(t, err)
		return strings.Join(warnings, "\n")
	}
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Name = "krum" }), "outside its theorem")
	require.NotContains(t, warn(5, func(p *params.Params) { p.Rule.Name = "krum" }), "outside its theorem")
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Zeros = true }), "rule.zeros")
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Unsquared = true }), "rule.unsquared")
	require.Contains(t, warn(4, func(p *params.Params) {
		p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.PrototypeEpsilon = "prototype", 0, 0.02
	}), "NO DP GUARANTEE")
}

func TestHexBytes(t *testing.T) {
	var b app.HexBytes
	require.Error(t, b.UnmarshalText([]byte("xy")))
	require.NoError(t, b.UnmarshalText([]byte("0aff")))
	require.Equal(t, app.HexBytes{10, 255}, b)
}
