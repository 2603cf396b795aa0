package preset_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/krum/rules"
)

// crowd simulates honest participants without training. Their gradients are a common signal plus
// the preset's noise, both through the workers' momentum, on the preset's grid. The loss is
// quadratic: a step subtracts pull times Delta from the signal. So noise that has moved the model
// is pulled back, which is the reason why an honest gradient can oppose Delta.
type crowd struct {
	params  params.Params
	rule    rules.Rule
	random  *rand.Rand
	pull    float64
	signal  []float64   // in grid steps
	made    [][]float64 // momentum of each participant
	vectors []gradients.Vector
	rounds  int
}

func newCrowd(t *testing.T, n int, pull float64) *crowd {
	p, err := preset.New("default", n)
	require.NoError(t, err)
	require.Equal(t, "agnostic-mean", p.Rule.Name)
	c := &crowd{params: p, random: rand.New(rand.NewPCG(uint64(n), math.Float64bits(pull))), pull: pull}
	c.rule, err = rules.Lookup(p.Rule.Name)
	require.NoError(t, err)
	noise := p.Noise()
	for range noise.Dim { // scaled to the norm of the noise in a submitted gradient
		c.signal = append(c.signal, noise.Std/noise.Step*math.Sqrt((1-noise.Momentum)/(1+noise.Momentum)))
	}
	for range n {
		c.made = append(c.made, make([]float64, noise.Dim))
		c.vectors = append(c.vectors, gradients.NewVector(gradients.Width(p.Grid.Width), noise.Dim))
	}
	return c
}

// round returns Delta and the typical squared norm, the lower median.
func (c *crowd) round(t *testing.T) (gradients.Fraction, int64) {
	noise := c.params.Noise()
	c.rounds++
	var squares []int64
	for i, made := range c.made {
		for j := range made {
			made[j] = noise.Momentum*made[j] + (1-noise.Momentum)*(c.signal[j]+noise.Std/noise.Step*c.random.NormFloat64())
		}
		gradients.Grid{Width: gradients.Width(c.params.Grid.Width), Step: 1}.Quantize(c.vectors[i], made)
		squares = append(squares, c.vectors[i].SquaredNorm())
	}
	out, err := c.rule.Aggregate(rules.Input{
		N: len(c.vectors), F: int(c.params.Rule.Byzantine), Vectors: c.vectors, Floor: noise.Distance(c.rounds),
	})
	require.NoError(t, err)
	for j, num := range out.Delta.Num {
		c.signal[j] -= c.pull * float64(num) / float64(out.Delta.Den)
	}
	slices.Sort(squares)
	return out.Delta, squares[(len(squares)-1)/2]
}

// honestRounds is the number of rounds in the long stage.
var honestRounds = flag.Int("rounds", 10_000, "rounds of TestHonestKeepReputationUnderAgnosticMean in the long stage")

// TestHonestKeepReputationUnderAgnosticMean plays rounds of honest participants with the default
// preset's rule and noise, with a model that is pulled back a little or much. If none of k
// gradients opposes Delta, the probability that one does is below 20/k, except with probability
// e^-20. By gambler's ruin, as in TestHonestReputationHolds, this bounds the probability of ever
// losing half of the reputation in 100,000 rounds.
func TestHonestKeepReputationUnderAgnosticMean(t *testing.T) {
	const long = 100_000
	for _, n := range []int{4, 10, 20} {
		for _, pull := range []float64{0.01, 0.1, 0.5} {
			t.Run(fmt.Sprintf("n=%d/pull=%g", n, pull), func(t *testing.T) {
				t.Parallel()
				c := newCrowd(t, n, pull)
				r, opposed, least, smallest := c.params.Reputation, 0, int64(params.One), math.Inf(1)
				reputation := make([]int64, n)
				for i := range reputation {
					reputation[i] = r.Initial
				}
				rounds := stage.Pick(20, 400, *honestRounds)
				for range rounds {
					delta, typical := c.round(t)
					for i, v := range c.vectors {
						dot, _ := delta.Dot(v).Float64()
						smallest = min(smallest, dot/float64(delta.Den)/float64(typical))
						if delta.Opposes(v, r.Margin, typical) {
							opposed++
							reputation[i] = max(0, reputation[i]-r.Penalty)
						} else {
							reputation[i] = min(params.One, reputation[i]+r.Reward)
						}
						least = min(least, reputation[i])
					}
				}
				t.Logf("%d rounds: %d of %d opposed, the smallest <g, Delta>/M^2 is %.4f, the least reputation %.2f",
					rounds, opposed, rounds*n, smallest, float64(least)/params.One)
				require.Zero(t, opposed)
				require.EqualValues(t, params.One, least)
				u := 20 / float64(rounds*n)
				steps := math.Ceil(float64(r.Initial) / 2 / float64(r.Penalty))
				if !testing.Short() {
					require.Less(t, long*float64(n)*math.Pow(u/(1-u), steps), 1e-4)
				}
			})
		}
	}
}
