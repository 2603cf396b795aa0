package privacy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/accountant"
)

// A guarantee with sampled batches: sampling rate 0.1, noise multiplier 2.670, 100 rounds.
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

func prepare(t testing.TB, o Options) *Attack {
	t.Helper()
	s, err := OnMNIST(train(t), o)
	require.NoError(t, err)
	a, err := New(s)
	require.NoError(t, err)
	return a
}

// With the preset's noise the attack stays within the bound, without it is far above: even in half
// the rounds.
func TestNoiseStopsTheAttack(t *testing.T) {
	stage.NotShort(t, "solves for the directions of 150 rounds")
	o := Options{Samples: 100, Rounds: rounds, NoiseMultiplier: noise, Canary: Crafted, Seed: 1}
	trials := stage.Pick(0, 40, 100)
	noised := prepare(t, o).Run(trials, 2)
	t.Log(noised)
	assert.Less(t, noised.Advantage.High, MaxAdvantage(epsilon, delta))
	assert.Less(t, noised.AUC.High, MaxAUC(epsilon, delta))
	assert.False(t, noised.Breaks(epsilon, delta))

	o.NoiseMultiplier, o.Rounds = 0, rounds/2
	open := prepare(t, o).Run(trials, 2)
	t.Log("no noise: ", open)
	assert.Greater(t, open.Advantage.Low, MaxAdvantage(epsilon, delta))
	assert.True(t, open.Breaks(epsilon, delta))
}

// The other model shipped is no safer without noise.
func TestAttackOnMLP(t *testing.T) {
	stage.NotShort(t, "plays 80 games")
	r := prepare(t, Options{Hidden: 32, Samples: 50, Rounds: 40, Canary: Crafted, Seed: 1}).Run(40, 2)
	t.Log(r)
	assert.Greater(t, r.Advantage.Low, MaxAdvantage(epsilon, delta))
}

// The bound of the mechanism itself, its total variation, is reached by the crafted canary up to
// chance: the attack is about as good as any. With less noise and fewer rounds than the preset
// there is more to see.
func TestAttackIsStrong(t *testing.T) {
	stage.NotShort(t, "plays 400 games")
	const z, few = 1.0, 20
	low, best := 0., 1. // the least delta at which epsilon is 0
	for range 20 {
		middle := (low + best) / 2
		epsilon, err := accountant.Epsilon(accountant.PLD, middle, accountant.Step{
			Mechanism: accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: z}, Rounds: few})
		require.NoError(t, err)
		if epsilon > 0 {
			low = middle
		} else {
			best = middle
		}
	}
	r := prepare(t, Options{Samples: 100, Rounds: few, NoiseMultiplier: z, Canary: Crafted, Seed: 1}).Run(200, 2)
	t.Logf("%v, at most %.3f", r, best)
	assert.LessOrEqual(t, r.Advantage.Low, best)
	assert.Greater(t, r.Advantage.Value, best/2)
}

// A person with 20 equal rows is plain to see where the unit of privacy is an example, in spite of the
// noise. Where it is a group, the attack stays within the bound of one unit.
func TestGroupHidesAPerson(t *testing.T) {
	stage.NotShort(t, "plays 240 games")
	trials := stage.Pick(0, 40, 100)
	run := func(unit string) Result {
		o := Options{Samples: 100, Rounds: rounds, NoiseMultiplier: noise, Canary: Crafted, Copies: 20, Unit: unit, Seed: 1}
		r := prepare(t, o).Run(trials, 2)
		t.Logf("unit %q: %v, epsilon is at least %.2f", unit, r, r.Epsilon(delta))
		return r
	}
	example := run("")
	assert.Greater(t, example.Advantage.Low, MaxAdvantage(epsilon, delta))
	assert.Greater(t, example.Epsilon(delta), float64(epsilon))
	group := run(params.UnitGroup)
	assert.Less(t, group.Advantage.High, MaxAdvantage(epsilon, delta))
	assert.LessOrEqual(t, group.Epsilon(delta), float64(epsilon))
}

// The promise of one row holds for k rows k times as weakly, and for one row as it is.
func TestOfGroup(t *testing.T) {
	e, d := OfGroup(1, epsilon, delta)
	assert.Equal(t, []float64{epsilon, delta}, []float64{e, d})
	e, d = OfGroup(3, 1, 1e-3)
	assert.Equal(t, 3.0, e)
	assert.InDelta(t, 1e-3*(1+math.E+math.E*math.E), d, 1e-12)
	_, d = OfGroup(20, epsilon, delta)
	assert.Equal(t, 1.0, d) // it promises nothing
	// All right of 100 with and 100 without refute what 0.0366 of the rates does.
	high := proportion(0, 100, miss/2).High
	r := measure(slices.Repeat([]float64{2}, 100), slices.Repeat([]float64{1}, 100), 1.5)
	assert.InDelta(t, math.Log((1-high)/high), r.Epsilon(0), 1e-9)
	assert.False(t, r.Breaks(r.Epsilon(delta)+1e-9, delta))
	assert.True(t, r.Breaks(r.Epsilon(delta)-1e-9, delta))
}

// Every kind of canary, and the same numbers each time.
func TestDeterministic(t *testing.T) {
	for _, canary := range []Canary{Typical, Mislabelled, Crafted} {
		o := Options{Samples: 30, Rounds: 3, NoiseMultiplier: noise, Canary: canary, Seed: 7}
		a := prepare(t, o)
		first := a.Run(3, 9)
		require.Equal(t, first, a.Run(3, 9))
		require.Equal(t, first, prepare(t, o).Run(3, 9))
		require.NotEqual(t, first, a.Run(3, 10))
	}
}

// No image of MNIST is lit where the crafted canary is.
func TestCraftedCanaryIsAlone(t *testing.T) {
	s, err := OnMNIST(train(t), Options{Samples: 15000, Rounds: 1, Canary: Crafted, Seed: 1})
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

	plain, err := OnMNIST(train(t), Options{Samples: 1, Rounds: 1, Canary: Typical, Seed: 1})
	require.NoError(t, err)
	wrong, err := OnMNIST(train(t), Options{Samples: 1, Rounds: 1, Canary: Mislabelled, Seed: 1})
	require.NoError(t, err)
	assert.Equal(t, plain.Canary.X, wrong.Canary.X)
	assert.NotEqual(t, plain.Canary.Labels, wrong.Canary.Labels)
}

// Where the other examples add nothing, a score is the likelihood ratio of one Gaussian in the
// canary's direction.
func TestScoreOfOneRound(t *testing.T) {
	spec := model.Spec{Inputs: 2, Classes: 2}
	data := mnist.Features{X: []float32{0, 0}, Labels: []uint8{0}, Inputs: 2} // saturated: its gradient is 0
	canary := mnist.Features{X: []float32{1, 0}, Labels: []uint8{1}, Inputs: 2}
	x := []float64{0, 0, 0, 0, 400, -400}
	c := privacy.Config{Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: 2, ExpectedBatch: 1}
	grid := gradients.Grid{Width: gradients.Int16, Step: 1e-3}
	a, err := New(Setting{Model: spec, Data: data, Canary: canary, Models: [][]float64{x}, Rate: 0.3, Mechanism: c,
		Grid: grid})
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
	assert.InDelta(t, 0.7616, MaxAdvantage(epsilon, delta), 1e-4)
	assert.Zero(t, MaxAdvantage(0, 0))
	assert.Equal(t, 1.0, MaxAdvantage(0, 1))
	assert.InDelta(t, (math.E-1+0.2)/(math.E+1), MaxAdvantage(1, 0.1), 1e-12)
	assert.InDelta(t, 0.8808, MaxAUC(epsilon, delta), 1e-4)
	assert.InDelta(t, 0.5, MaxAUC(0, 0), 1e-12)
	assert.InDelta(t, 1, MaxAUC(0, 1), 1e-12)

	assert.InDelta(t, 0.01*math.Exp(2)+1e-6, MaxTPR(0.01, 2, 1e-6), 1e-12)
	assert.Equal(t, 1.0, MaxTPR(1, 2, 1e-6))
	// Their largest difference and their area.
	gain, area := 0.0, 0.0
	const steps = 100000
	for i := range steps {
		f := (float64(i) + 0.5) / steps
		tpr := MaxTPR(f, 1.5, 0.01)
		gain, area = max(gain, tpr-f), area+tpr/steps
	}
	assert.InDelta(t, MaxAdvantage(1.5, 0.01), gain, 1e-4)
	assert.InDelta(t, MaxAUC(1.5, 0.01), area, 1e-4)
}

func TestSettingErrors(t *testing.T) {
	good := Options{Samples: 10, Rounds: 2, NoiseMultiplier: 1, Canary: Typical}
	for _, change := range []func(*Options){
		func(o *Options) { o.Samples = 0 },
		func(o *Options) { o.Samples = 15001 },
		func(o *Options) { o.Rounds = 0 },
		func(o *Options) { o.Canary = "yellow" },
	} {
		o := good
		change(&o)
		_, err := OnMNIST(train(t), o)
		require.ErrorIs(t, err, ErrSetting)
	}
	o := good
	o.Hidden = -1
	_, err := OnMNIST(train(t), o)
	require.ErrorIs(t, err, model.ErrSpec)
	o = good
	o.NoiseMultiplier = -1
	_, err = OnMNIST(train(t), o)
	require.NoError(t, err)
	odd := mnist.Set{Images: make([]uint8, 9*4), Labels: make([]uint8, 4), Rows: 3, Cols: 3}
	_, err = OnMNIST(odd, Options{Samples: 1, Rounds: 1, Canary: Typical})
	require.ErrorIs(t, err, mnist.ErrFeatures)

	for _, c := range []struct {
		change func(*Setting)
		want   error
	}{
		{func(s *Setting) { s.Data = mnist.Features{Inputs: 196} }, ErrSetting},
		{func(s *Setting) { s.Canary = s.Data }, ErrSetting},
		{func(s *Setting) { s.Models = nil }, ErrSetting},
		{func(s *Setting) { s.Copies = -1 }, ErrSetting},
		{func(s *Setting) { s.Unit = "person" }, ErrSetting},
		{func(s *Setting) { s.Models[1] = nil }, ErrSetting},
		{func(s *Setting) { s.Rate = math.NaN() }, ErrSetting},
		{func(s *Setting) { s.Mechanism = privacy.Config{Kind: privacy.Prototype} }, ErrSetting},
		{func(s *Setting) { s.Model.Classes = 0 }, model.ErrSpec},
		{func(s *Setting) { s.Mechanism.Clip = 0 }, privacy.ErrConfig},
		{func(s *Setting) { s.Grid.Step = 0 }, gradients.ErrStep},
	} {
		s, err := OnMNIST(train(t), good)
		require.NoError(t, err)
		c.change(&s)
		_, err = New(s)
		require.ErrorIs(t, err, c.want)
	}
}

// A quick look: a victim of 100 examples, no noise, 20 rounds. BenchmarkMembership prints the full
// numbers.
func ExampleAttack_Run() {
	data, err := mnist.Embedded()
	if err != nil {
		panic(err)
	}
	s, err := OnMNIST(data.Train, Options{Samples: 100, Rounds: 20, Canary: Crafted, Seed: 1})
	if err != nil {
		panic(err)
	}
	attack, err := New(s)
	if err != nil {
		panic(err)
	}
	r := attack.Run(20, 1)
	fmt.Printf("advantage above 0.7: %t; with epsilon 2 it is at most %.3f\n", r.Advantage.Value > 0.7,
		MaxAdvantage(2, 1e-6))
	// Output: advantage above 0.7: true; with epsilon 2 it is at most 0.762
}
