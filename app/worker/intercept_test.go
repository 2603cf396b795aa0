package worker_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// columns of the tables of this file, whose rows have these and the constant.
const columns = 12

// hospitals returns the parameters of four hospitals with rows of their own, and their trainers. The
// columns say the same of a row everywhere, but the rates differ.
func hospitals(t *testing.T, seed uint64, rates ...float64) (params.Params, []*worker.Trainer) {
	t.Helper()
	const rows = 3000
	table := &params.Table{Label: "outcome", Classes: []string{"alive", "dead"}, Rate: 0.1}
	for j := range columns {
		table.Columns = append(table.Columns, params.Column{Name: string(rune('a' + j)), Low: -1, High: 1})
	}
	p, err := preset.Make("default", len(rates), preset.Own{Epsilon: 2, Examples: rows,
		Data: &preset.Data{Classes: 2, Table: table}})
	require.NoError(t, err)
	var all []*worker.Trainer
	rng := rand.New(rand.NewPCG(seed, 45))
	for i, rate := range rates {
		f := mnist.Features{Inputs: columns + 1}
		for range rows {
			score := math.Log(rate / (1 - rate))
			for j := range columns {
				x := 0.45 * rng.NormFloat64()
				score += x * float64(j%3-1)
				f.X = append(f.X, float32(x))
			}
			f.X = append(f.X, params.TableConstant)
			label := uint8(0)
			if rng.Float64() < 1/(1+math.Exp(-score)) {
				label = 1
			}
			f.Labels = append(f.Labels, label)
		}
		one, err := worker.NewTrainer(p, f, privacy.NewTestSource(seed<<8+uint64(i)))
		require.NoError(t, err)
		all = append(all, one)
	}
	return p, all
}

// begin returns the model with which the chain begins.
func begin(p params.Params) []float64 {
	x := make([]float64, p.Model.Dim())
	x[columns] = math.Log(p.Model.Table.Rate/(1-p.Model.Table.Rate)) / params.TableConstant
	return x
}

// trained returns the mean weights of the participants over a training, and the model.
func trained(t *testing.T, p params.Params, all []*worker.Trainer) (weights, x []float64) {
	t.Helper()
	rule, err := rules.Lookup(p.Rule.Name)
	require.NoError(t, err)
	n := len(all)
	x, weights = begin(p), make([]float64, n)
	for round := range p.Training.Rounds {
		in := rules.Input{N: n, F: int(p.Rule.Byzantine), Floor: p.DistanceFloor(round, int(round)+1)}
		for _, one := range all {
			v, _ := one.Step(x)
			least, greatest := p.Noise().Bounds(int(round)+1, int(round)+1)
			require.True(t, least <= v.SquaredNorm() && v.SquaredNorm() <= greatest, "round %d", round)
			in.Vectors = append(in.Vectors, v)
		}
		out, err := rule.Aggregate(in)
		require.NoError(t, err)
		for i, score := range out.Score {
			weights[i] += (1 - float64(score)*float64(n)/(1<<20)) / float64(p.Training.Rounds)
		}
		for j, num := range out.Delta.Num {
			x[j] -= p.Training.LearningRate * float64(num) / float64(out.Delta.Den) * p.Grid.Step
		}
	}
	return weights, x
}

// TestHonestMinority: a hospital with more deaths than the others keeps its weight.
func TestHonestMinority(t *testing.T) {
	for seed := range uint64(3) {
		p, all := hospitals(t, seed+1, 0.035, 0.035, 0.1, 0.25)
		weights, x := trained(t, p, all)
		require.Greater(t, slices.Min(weights), 0.9, weights)
		for j, w := range x[:columns] {
			require.InDelta(t, float64(j%3-1), w, 0.35, "column %d", j)
		}
		// The common intercept is between those of the hospitals, and not the logit of the pooled rate.
		require.InDelta(t, math.Log(0.05/0.95), x[columns]*params.TableConstant, 0.5)
	}
}

// TestInterceptIsBounded: no common intercept makes a participant send more than its gradient, its noise
// and a bounded pull.
func TestInterceptIsBounded(t *testing.T) {
	p, all := hospitals(t, 1, 0.1, 0.1, 0.1, 0.1)
	x := begin(p)
	for _, far := range []float64{x[columns], 50, -50, math.Inf(1), math.NaN()} {
		x[columns] = far
		v, _ := all[0].Step(x)
		bound := (p.Privacy.Clip + 10*p.Noise().Std) / p.Grid.Step
		require.Less(t, math.Abs(float64(v.At(columns))), bound, "common intercept %g", far)
	}
}

// TestInterceptForgets: a vector that nobody has seen leaves no trace in later ones.
func TestInterceptForgets(t *testing.T) {
	p, all := hospitals(t, 1, 0.25, 0.1, 0.1, 0.1)
	x := begin(p)
	all[0].Step(x)
	before := all[0].OwnIntercept()
	require.NoError(t, all[0].StepUnseen(x))
	require.Equal(t, before, all[0].OwnIntercept())
	all[0].Step(x)
	require.NotEqual(t, before, all[0].OwnIntercept())
}
