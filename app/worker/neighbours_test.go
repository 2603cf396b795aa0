package worker

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// neighbourParams has a batch for 15,000 examples.
func neighbourParams() params.Params {
	p := params.Params{
		Model: params.Model{Kind: params.ModelSoftmax, Inputs: 8, Classes: 2, Pool: 1, PixelScale: 1, NoBias: true},
		Privacy: params.Privacy{
			Mechanism: params.MechanismGaussian, Clip: 1, NoiseMultiplier: 2.67, Batch: 1500, SamplingRate: 0.1,
			WorkerMomentum: 0.8, NoiseFloor: true,
		},
	}
	p.Grid = params.Grid{Width: 1, Step: GridStep(p.Privacy)}
	return p
}

// agreeing returns examples whose gradients at 0 have the same direction, which makes their sum the
// longest.
func agreeing(n int) mnist.Features {
	rng := rand.New(rand.NewPCG(7, 7))
	f := mnist.Features{Inputs: 8, Labels: make([]uint8, n)}
	for range n * f.Inputs {
		f.X = append(f.X, 2+rng.Float32())
	}
	return f
}

// rowsAsExamples is the trainer of an external model that returns the built-in gradients.
type rowsAsExamples struct{ *Trainer }

func (r rowsAsExamples) Len() int { return r.units }
func (r rowsAsExamples) Close()   {}
func (r rowsAsExamples) ClippedSum(ctx context.Context, dst, x []float64, picked []int) error {
	_, err := r.clipped(ctx, dst, x, picked)
	return err
}

// TestOneExampleMovesTheSumByOneClip: with the same coins, a round's sum with and without one
// example differs by at most the clip norm and the rounding of Project, at any number of examples,
// for built-in and external models. The coins are one word for each example in order, so the other
// examples keep theirs if the last one is removed.
func TestOneExampleMovesTheSumByOneClip(t *testing.T) {
	for _, rate := range []float64{0.1, 1} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) { moveSums(t, rate) })
	}
}

// TestManyRowsAreAdmitted: where a round takes all rows, the vector of a participant that has many times
// the declared number, and whose gradients agree, keeps to the bound that validators check (G6), which
// is that of the clip norm.
func TestManyRowsAreAdmitted(t *testing.T) {
	p := neighbourParams()
	p.Privacy.SamplingRate, p.Privacy.Batch, p.Privacy.WorkerMomentum = 1, 100, 0
	p.Privacy.NoiseMultiplier = 0.1 // so that the noise hides no excess
	p.Grid.Step = p.Privacy.Clip / 100
	require.Equal(t, p.Privacy.Clip, p.Noise().Signal)
	for _, rows := range []int{50, 100, 1000} {
		trainer, err := NewTrainer(p, agreeing(rows), privacy.NewTestSource(uint64(rows)))
		require.NoError(t, err)
		v, _ := trainer.Step(make([]float64, p.Model.Dim()))
		require.Len(t, trainer.batch, rows)
		norm := math.Sqrt(float64(v.SquaredNorm())) * p.Grid.Step
		require.InDelta(t, min(1, float64(rows)/100), norm, 0.05, "%d rows", rows)
		_, greatest := p.Noise().Bounds(1, 1)
		require.LessOrEqual(t, v.SquaredNorm(), greatest)
	}
}

func moveSums(t *testing.T, rate float64) {
	p := neighbourParams()
	p.Privacy.SamplingRate = rate
	largest := stage.Pick(20_000, 60_000, 60_000)
	data := agreeing(60_000)
	for _, n := range []int{100, 14_000, 15_000, 15_100, 16_000, 20_000, 60_000} {
		if n > largest {
			continue
		}
		many := n == 60_000 // four times the examples for which the batch is meant, so that the bound applies
		n = int(math.Round(float64(n) * 0.1 / rate))
		sums := map[string][][]float64{}
		for _, rows := range []int{n, n - 1} {
			part := mnist.Features{X: data.X[:rows*data.Inputs], Labels: data.Labels[:rows], Inputs: data.Inputs}
			built, err := NewTrainer(p, part, privacy.NewTestSource(11))
			require.NoError(t, err)
			inner, err := NewTrainer(p, part, privacy.NewTestSource(12))
			require.NoError(t, err)
			other, err := NewExternal(p, rowsAsExamples{inner}, privacy.NewTestSource(11))
			require.NoError(t, err)
			for kind, trainer := range map[string]*Trainer{"built-in": built, "external": other} {
				for round := range uint64(5) {
					require.NoError(t, first(trainer.compute(t.Context(), params.RoundID{Round: round},
						make([]float64, p.Model.Dim()))))
					sums[kind] = append(sums[kind], append([]float64(nil), trainer.sum...))
					trainer.batchRound = nil
					trainer.source = privacy.NewTestSource(100 + round) // the next round's coins
				}
			}
		}
		for kind, s := range sums {
			for round := range 5 {
				apart, norm := 0.0, 0.0
				for j, x := range s[round] {
					apart += (x - s[5+round][j]) * (x - s[5+round][j])
					norm += x * x
				}
				require.LessOrEqual(t, math.Sqrt(apart), p.Privacy.Clip, fmt.Sprintf("%s, %d examples", kind, n))
				require.LessOrEqual(t, math.Sqrt(norm), radius(p)+1e-9)
				if many {
					require.Greater(t, math.Sqrt(norm), 0.999*radius(p))
				}
			}
		}
	}
}

func first(_ any, err error) error { return err }
