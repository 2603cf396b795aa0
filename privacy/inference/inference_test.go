package inference_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/model"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/privacy/inference"
)

// The preset's guarantee: sampling rate 0.1, noise multiplier 2.670, 100 rounds.
const (
	epsilon = 2
	delta   = 1e-6
	noise   = 2.670
	rounds  = 100
)

func train(t testing.TB) mnist.Set {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	return data.Train
}

func prepare(t testing.TB, o inference.Options) *inference.Attack {
	t.Helper()
	s, err := inference.OnMNIST(train(t), o)
	require.NoError(t, err)
	a, err := inference.New(s)
	require.NoError(t, err)
	return a
}

// With the preset's noise the attack stays within the bound, without it is far above: even in half the rounds.
func TestNoiseStopsTheAttack(t *testing.T) {
	o := inference.Options{Samples: 100, Rounds: rounds, NoiseMultiplier: noise, Canary: inference.Crafted, Seed: 1}
	noised := prepare(t, o).Run(100, 2)
	t.Log(noised)
	assert.Less(t, noised.Advantage.High, inference.MaxAdvantage(epsilon, delta))
	assert.Less(t, noised.AUC.High, inference.MaxAUC(epsilon, delta))
	assert.False(t, noised.Breaks(epsilon, delta))

	o.NoiseMultiplier, o.Rounds = 0, rounds/2
	open := prepare(t, o).Run(100, 2)
	t.Log("no noise: ", open)
	assert.Greater(t, open.Advantage.Low, inference.MaxAdvantage(epsilon, delta))
	assert.True(t, open.Breaks(epsilon, delta))
}

// The other model shipped is no safer without noise.
func TestAttackOnMLP(t *testing.T) {
	r := prepare(t, inference.Options{Hidden: 32, Samples: 50, Rounds: 40, Canary: inference.Crafted, Seed: 1}).Run(40, 2)
	t.Log(r)
	assert.Greater(t, r.Advantage.Low, inference.MaxAdvantage(epsilon, delta))
}

// The bound of the mechanism itself, its total variation, is reached by the crafted canary up to chance: the attack is about
// as good as any. With less noise and fewer rounds than the preset there is more to see.
func TestAttackIsStrong(t *testing.T) {
	const z, few = 1.0, 20
	best, err := accountant.Delta(accountant.PLD, 0, accountant.Step{Mechanism: accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: z}, Rounds: few})
	require.NoError(t, err)
	r := prepare(t, inference.Options{Samples: 100, Rounds: few, NoiseMultiplier: z, Canary: inference.Crafted, Seed: 1}).Run(200, 2)
	t.Logf("%v, at most %.3f", r, best)
	assert.LessOrEqual(t, r.Advantage.Low, best)
	assert.Greater(t, r.Advantage.Value, best/2)
}

// Every kind of canary, and the same numbers each time.
func TestDeterministic(t *testing.T) {
	for _, canary := range []inference.Canary{inference.Typical, inference.Mislabelled, inference.Crafted} {
		o := inference.Options{Samples: 30, Rounds: 3, NoiseMultiplier: noise, Canary: canary, Seed: 7}
		a := prepare(t, o)
		first := a.Run(3, 9)
		require.Equal(t, first, a.Run(3, 9))
		require.Equal(t, first, prepare(t, o).Run(3, 9))
		require.NotEqual(t, first, a.Run(3, 10))
	}
}

// No image of MNIST is lit where the crafted canary is.
func TestCraftedCanaryIsAlone(t *testing.T) {
	s, err := inference.OnMNIST(train(t), inference.Options{Samples: 15000, Rounds: 1, Canary: inference.Crafted, Seed: 1})
	require.NoError(t, err)
	lit := 0
	for j, v := range s.Canary.Row(0) {
		if v == 0 {
			continue
		}
		assert.Equal(t, float32(1), v)
		lit++
		for i := range s.Data.Len() {
			require.Zero(t, s.Data.Row(i)[j])
		}
	}
	assert.Equal(t, 4, lit)

	plain, err := inference.OnMNIST(train(t), inference.Options{Samples: 1, Rounds: 1, Canary: inference.Typical, Seed: 1})
	require.NoError(t, err)
	wrong, err := inference.OnMNIST(train(t), inference.Options{Samples: 1, Rounds: 1, Canary: inference.Mislabelled, Seed: 1})
	require.NoError(t, err)
	assert.Equal(t, plain.Canary.X, wrong.Canary.X)
	assert.NotEqual(t, plain.Canary.Labels, wrong.Canary.Labels)
}

// Where the other examples add nothing, a score is the likelihood ratio of one Gaussian in the canary's direction.
func TestScoreOfOneRound(t *testing.T) {
	spec := model.Spec{Inputs: 2, Classes: 2}
	data := mnist.Features{X: []float32{0, 0}, Labels: []uint8{0}, Inputs: 2} // saturated: its gradient is 0
	canary := mnist.Features{X: []float32{1, 0}, Labels: []uint8{1}, Inputs: 2}
	x := []float64{0, 0, 0, 0, 400, -400}
	c := privacy.Config{Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: 2, ExpectedBatch: 1}
	grid := gradients.Grid{Width: gradients.Int16, Step: 1e-3}
	a, err := inference.New(inference.Setting{Model: spec, Data: data, Canary: canary, Models: [][]float64{x}, Rate: 0.3, Mechanism: c, Grid: grid})
	require.NoError(t, err)

	m, err := model.New(spec)
	require.NoError(t, err)
	g := make([]float64, spec.Dim())
	m.ClippedSum(g, x, canary.X, canary.Labels, 1)
	for _, factor := range []float64{-3, 0, 1, 8} {
		v := gradients.NewVector(gradients.Int16, spec.Dim())
		at := make([]float64, spec.Dim())
		for j := range at {
			at[j] = factor * g[j]
		}
		grid.Quantize(v, at)
		// ‖g‖ = 1, so the statistic is factor/4 and its power 1/4.
		want := math.Log(0.7 + 0.3*math.Exp((factor-0.5)/4))
		assert.InDelta(t, want, a.Score([]gradients.Vector{v}), 2e-3)
	}
}

func TestBounds(t *testing.T) {
	assert.InDelta(t, 0.7616, inference.MaxAdvantage(epsilon, delta), 1e-4)
	assert.Zero(t, inference.MaxAdvantage(0, 0))
	assert.Equal(t, 1.0, inference.MaxAdvantage(0, 1))
	assert.InDelta(t, (math.E-1+0.2)/(math.E+1), inference.MaxAdvantage(1, 0.1), 1e-12)
	assert.InDelta(t, 0.8808, inference.MaxAUC(epsilon, delta), 1e-4)
	assert.InDelta(t, 0.5, inference.MaxAUC(0, 0), 1e-12)
	assert.InDelta(t, 1, inference.MaxAUC(0, 1), 1e-12)

	assert.InDelta(t, 0.01*math.Exp(2)+1e-6, inference.MaxTPR(0.01, 2, 1e-6), 1e-12)
	assert.Equal(t, 1.0, inference.MaxTPR(1, 2, 1e-6))
	// Their largest difference and their area.
	gain, area := 0.0, 0.0
	const steps = 100000
	for i := range steps {
		f := (float64(i) + 0.5) / steps
		tpr := inference.MaxTPR(f, 1.5, 0.01)
		gain, area = max(gain, tpr-f), area+tpr/steps
	}
	assert.InDelta(t, inference.MaxAdvantage(1.5, 0.01), gain, 1e-4)
	assert.InDelta(t, inference.MaxAUC(1.5, 0.01), area, 1e-4)
}

func TestSettingErrors(t *testing.T) {
	good := inference.Options{Samples: 10, Rounds: 2, NoiseMultiplier: 1, Canary: inference.Typical}
	for _, change := range []func(*inference.Options){
		func(o *inference.Options) { o.Samples = 0 },
		func(o *inference.Options) { o.Samples = 15001 },
		func(o *inference.Options) { o.Rounds = 0 },
		func(o *inference.Options) { o.Canary = "yellow" },
	} {
		o := good
		change(&o)
		_, err := inference.OnMNIST(train(t), o)
		require.ErrorIs(t, err, inference.ErrSetting)
	}
	o := good
	o.Hidden = -1
	_, err := inference.OnMNIST(train(t), o)
	require.ErrorIs(t, err, model.ErrSpec)
	o = good
	o.NoiseMultiplier = -1
	_, err = inference.OnMNIST(train(t), o)
	require.NoError(t, err)
	odd := mnist.Set{Images: make([]uint8, 9*4), Labels: make([]uint8, 4), Rows: 3, Cols: 3}
	_, err = inference.OnMNIST(odd, inference.Options{Samples: 1, Rounds: 1, Canary: inference.Typical})
	require.ErrorIs(t, err, mnist.ErrFeatures)

	for _, c := range []struct {
		change func(*inference.Setting)
		want   error
	}{
		{func(s *inference.Setting) { s.Data = mnist.Features{Inputs: 196} }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Canary = s.Data }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Models = nil }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Models[1] = nil }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Rate = math.NaN() }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Mechanism = privacy.Config{Kind: privacy.Prototype} }, inference.ErrSetting},
		{func(s *inference.Setting) { s.Model.Classes = 0 }, model.ErrSpec},
		{func(s *inference.Setting) { s.Mechanism.Clip = 0 }, privacy.ErrConfig},
		{func(s *inference.Setting) { s.Grid.Step = 0 }, gradients.ErrStep},
	} {
		s, err := inference.OnMNIST(train(t), good)
		require.NoError(t, err)
		c.change(&s)
		_, err = inference.New(s)
		require.ErrorIs(t, err, c.want)
	}
}

// A quick look: a victim of 100 examples, no noise, 20 rounds. BenchmarkMembership prints the full numbers.
func ExampleAttack_Run() {
	data, err := mnist.Embedded()
	if err != nil {
		panic(err)
	}
	s, err := inference.OnMNIST(data.Train, inference.Options{Samples: 100, Rounds: 20, Canary: inference.Crafted, Seed: 1})
	if err != nil {
		panic(err)
	}
	attack, err := inference.New(s)
	if err != nil {
		panic(err)
	}
	r := attack.Run(20, 1)
	fmt.Printf("advantage above 0.7: %t; with epsilon 2 it is at most %.3f\n", r.Advantage.Value > 0.7, inference.MaxAdvantage(2, 1e-6))
	// Output: advantage above 0.7: true; with epsilon 2 it is at most 0.762
}
