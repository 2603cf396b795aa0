package mnist_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/accountant"
)

// What the participants of these tests spend: the default preset's noise for epsilon 2.
const (
	rounds, rate, multiplier = 100, 0.1, 2.6704
	epsilon, delta           = 2, 1e-6
)

// Four participants train softmax regression without bias at epsilon 2 each, with the chain's
// mechanism and grid and with the plain mean of their vectors. On 14x14 pixels such a training ends
// near 0.91.
func TestAccuracyAtEpsilonTwo(t *testing.T) {
	stage.OnlyLong(t) // computes the features of MNIST at two sizes: 15 s
	spent, err := accountant.Epsilon(accountant.RDP, delta, accountant.Step{
		Mechanism: accountant.Mechanism{SamplingRate: rate, NoiseMultiplier: multiplier}, Rounds: rounds,
	})
	require.NoError(t, err)
	require.LessOrEqual(t, spent, float64(epsilon))
	data, err := mnist.Embedded()
	require.NoError(t, err)
	for side, want := range map[int]float64{28: 0.980, 14: 0.970} {
		train, err := features.Strokes(resized(t, data.Train, side), nil)
		require.NoError(t, err)
		test, err := features.Strokes(resized(t, data.Test, side), nil)
		require.NoError(t, err)
		got := trained(t, train).Evaluate(test.X, test.Labels).Accuracy
		t.Logf("n=%d: %.4f", side, got)
		assert.GreaterOrEqual(t, got, want, "n=%d", side)
	}
}

// learner is a model with its parameters.
type learner struct {
	*model.Model
	params []float64
}

func (l learner) Evaluate(x []float32, labels []uint8) model.Eval {
	return l.Model.Evaluate(l.params, x, labels)
}

// participant is one of those who train: its examples and its mechanism.
type participant struct {
	data      mnist.Features
	mechanism *privacy.Mechanism
	source    *privacy.Source
	step      float64 // of the mechanism's grid
}

// trained returns the model after the rounds of four participants who share the examples evenly.
func trained(t *testing.T, train mnist.Features) learner {
	const learningRate = 40
	net, err := model.New(model.Spec{Inputs: features.Inputs, Classes: mnist.Classes, NoBias: true})
	require.NoError(t, err)
	var participants []participant
	for i, index := range mnist.PartitionIID(train.Len(), 4, 1) {
		c := privacy.Config{
			Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: multiplier, Momentum: 0.9,
			ExpectedBatch: rate * float64(len(index)),
		}
		p := participant{source: privacy.NewTestSource(uint64(i) + 1), step: privacy.StepFor(c)}
		p.mechanism, err = privacy.New(c, gradients.Grid{Width: gradients.Int8, Step: p.step}, net.Dim(), p.source)
		require.NoError(t, err)
		x, labels := train.Batch(nil, nil, index)
		p.data = mnist.Features{X: x, Labels: labels, Inputs: train.Inputs}
		participants = append(participants, p)
	}
	params, sum := make([]float64, net.Dim()), make([]float64, net.Dim())
	for range rounds {
		update := make([]float64, net.Dim())
		for _, p := range participants {
			x, labels := p.data.Batch(nil, nil, privacy.PoissonSample(nil, p.data.Len(), rate, p.source))
			net.ClippedSum(sum, params, x, labels, 1)
			vector, _ := p.mechanism.Release(sum)
			for j := range update {
				update[j] += float64(vector.At(j)) * p.step / float64(len(participants))
			}
		}
		for j, v := range update {
			params[j] -= learningRate * v
		}
	}
	return learner{net, params}
}
