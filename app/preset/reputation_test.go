package preset_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// opposedRounds bounds, for each preset, the share of rounds in which an honest
// gradient opposes Delta by the preset's margin, without an attack, evenly dealt
// data and Dirichlet 0.5. docs/adr/0011-reputation-knows-the-noise.md has what was
// measured.
var opposedRounds = map[string]float64{"default": 0.05, "mlp": 0.05, "paper": 0.1}

// TestHonestReputationHolds bounds the chance that an honest participant ever loses
// more than half of its reputation in 100,000 rounds. The reputation is a walk held
// at One that falls by the penalty with probability u and else rises by the reward,
// which is as large. An excursion from One falls by k steps before it returns with
// probability at most (u/(1-u))^k (gambler's ruin), and there are at most as many
// excursions as rounds.
func TestHonestReputationHolds(t *testing.T) {
	const rounds = 100_000
	for name, u := range opposedRounds {
		p, err := preset.New(name, 4)
		require.NoError(t, err)
		r := p.Reputation
		require.Equal(t, r.Penalty, r.Reward, "the bound is for equal steps")
		steps := math.Ceil(float64(r.Initial) / 2 / float64(r.Penalty))
		require.Less(t, rounds*math.Pow(u/(1-u), steps), 1e-6, name)

		// The walk itself stays well above.
		random, reputation, least := rand.New(rand.NewPCG(1, 2)), r.Initial, r.Initial
		for range rounds {
			if random.Float64() < u {
				reputation = max(0, reputation-r.Penalty)
			} else {
				reputation = min(params.One, reputation+r.Reward)
			}
			least = min(least, reputation)
		}
		require.Greater(t, least, int64(params.One/2), name)
	}
}
