package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
)

// pooledModel is softmax on pooled pixels.
var pooledModel = model.Spec{Inputs: 196, Classes: 10}

// defaults is the training of an earlier default preset.
var defaults = Input{
	Participants: 4, Byzantine: 1, Rule: "multi-krum", Model: pooledModel, Width: gradients.Int8, NoiseFloor: true,
	RoundTime: time.Second,
	Samples:   15000, SamplingRate: 0.1, Clip: 1, Momentum: 0.9, Rounds: 100,
	Accountant: accountant.RDP, NoiseMultiplier: 2.670, Delta: 1e-6,
}

// twenty is the training of twenty participants.
var twenty = with(defaults, func(in *Input) {
	in.Participants, in.Byzantine, in.Samples, in.Rule, in.NoiseMultiplier = 20, 6, 3000, "nnm+trimmed-mean", 1.608
})

func with(in Input, change func(*Input)) Input {
	change(&in)
	return in
}

// study returns the setting of the study's noise table, for a target epsilon.
func study(by accountant.Method, epsilon float64) Input {
	return with(defaults, func(in *Input) {
		in.SamplingRate, in.Accountant, in.Epsilon, in.NoiseMultiplier = 1./30, by, epsilon, 0
	})
}

func made(t *testing.T, in Input) Plan {
	t.Helper()
	p, err := Make(in)
	require.NoError(t, err)
	return p
}

func TestNoiseForEpsilon(t *testing.T) {
	p := made(t, study(accountant.RDP, 1))
	assert.InDelta(t, 1.882, p.NoiseMultiplier, 1e-4, "1.8706 by the accountant, and the ledger's rounding")
	assert.LessOrEqual(t, p.Epsilon, 1.0)
	assert.InDelta(t, 0.991, p.Epsilon, 1e-3)
	assert.Equal(t, p.Epsilon, p.RDPEpsilon)
	assert.True(t, p.Guarantee)
	assert.Equal(t, 500, p.Batch)

	pld := made(t, study(accountant.PLD, 1))
	assert.InEpsilon(t, 1.75, pld.NoiseMultiplier, 5e-3)
	assert.Greater(t, pld.RDPEpsilon, 1.0)
	assert.Contains(t, strings.Join(pld.Warnings, "\n"), "the chain's ledger pays for")

	analytic := made(t, with(study(accountant.Analytic, 1), func(in *Input) { in.SamplingRate = 1 }))
	assert.InEpsilon(t, 42.2, analytic.NoiseMultiplier, 5e-3)
	assert.Equal(t, 15000, analytic.Batch)
}

// TestCopiedMultiplier: the multiplier that the text shows keeps the epsilon, and so does that of the ledger's cure.
func TestCopiedMultiplier(t *testing.T) {
	for _, epsilon := range []float64{0.3, 0.5, 1, 2, 4, 8} {
		in := with(study(accountant.Analytic, epsilon), func(in *Input) { in.SamplingRate, in.Rounds = 1, 25 })
		var b bytes.Buffer
		made(t, in).Text(&b)
		_, shown, found := strings.Cut(b.String(), "multiplier ")
		require.True(t, found)
		shown, _, _ = strings.Cut(shown, ",")
		var err error
		in.NoiseMultiplier, err = strconv.ParseFloat(shown, 64)
		require.NoError(t, err)
		in.Epsilon = 0
		require.LessOrEqual(t, made(t, in).Epsilon, epsilon, shown)
	}
	for x, want := range map[float64]float64{11.15: 11.15, 11.1472: 11.15, 11.1512: 11.16, 22.7901: 22.8, 4.1342: 4.135,
		0.000123412: 0.0001235, 9.9999: 10} {
		require.Equal(t, want, up(x))
	}
}

func TestEpsilonForNoise(t *testing.T) {
	p := made(t, defaults)
	assert.InDelta(t, 1.998, p.Epsilon, 1e-3)
	assert.Equal(t, 2.670, p.NoiseMultiplier)
	assert.Nil(t, p.Ledger.Rounds)
	assert.InDelta(t, p.Epsilon, p.Ledger.Epsilon, 0.01*p.Epsilon)

	byBatch := made(t, with(defaults, func(in *Input) { in.SamplingRate, in.Batch = 0, 1500 }))
	assert.Equal(t, p, byBatch)
}

func TestLemma1(t *testing.T) {
	p := made(t, study(Lemma1, 1))
	assert.InDelta(t, 5.299, p.NoiseMultiplier, 1e-3)
	assert.Equal(t, 1.0, p.Epsilon, "the claim")
	assert.InDelta(t, 0.277, p.RDPEpsilon, 1e-3)
	assert.False(t, p.Guarantee)
	assert.Nil(t, p.Ledger.Rounds)
	assert.InDelta(t, 283, p.Lemma1.TimesRDP, 1)
	assert.InDelta(t, 530, p.Lemma1.WithoutRate, 1)
	assert.Contains(t, p.Warnings[0], "not a guarantee: with this noise epsilon is 0.2769 by RDP, and 10.9 if the "+
		"batches are not secret")

	back := made(t, with(study(Lemma1, 0), func(in *Input) { in.NoiseMultiplier = p.NoiseMultiplier }))
	assert.InDelta(t, 1, back.Epsilon, 1e-12)
	assert.InDelta(t, p.RDPEpsilon, back.RDPEpsilon, 1e-9)

	faster := made(t, with(study(Lemma1, 1), func(in *Input) { in.LearningRate = 0.1 }))
	assert.InDelta(t, 10*p.NoiseMultiplier, faster.NoiseMultiplier, 1e-9)

	beside := made(t, study(accountant.RDP, 1)).Lemma1
	assert.Equal(t, *p.Lemma1, *beside, "every plan has the lemma beside it")
	// The noise is out of the lemma's range, and within the plan's.
	assert.Nil(t, made(t, with(defaults, func(in *Input) { in.NoiseMultiplier = 1e-4; in.LearningRate = 1e-12 })).Lemma1)

	weak := made(t, study(Lemma1, 20))
	assert.Contains(t, strings.Join(weak.Warnings, "\n"), "is weak")
}

func TestNoise(t *testing.T) {
	p := made(t, with(defaults, func(in *Input) { in.Clip = 2 }))
	assert.Equal(t, 2*2.670, p.SumStd)
	assert.InEpsilon(t, 2*2.670/1500*math.Sqrt(0.1/1.9), p.SubmittedStd, 1e-12)
	assert.Equal(t, p.SubmittedStd/8, p.GridStep)
	assert.InEpsilon(t, p.SubmittedStd*math.Sqrt(1970)/2, p.NoiseToGradient, 1e-12)
}

func TestTraffic(t *testing.T) {
	got := made(t, with(defaults, func(in *Input) { in.RoundTime = 2 * time.Second })).Traffic
	assert.Equal(t, Traffic{Gradient: 2482, Round: 4*(2482+48) + 512, Day: 43200 * 10632, Total: 1063200, Seconds: 2,
		Duration: 200}, got)
}

// TestMeasuredNoise: the multipliers of the measurements give the epsilons of README.
func TestMeasuredNoise(t *testing.T) {
	for i, epsilon := range []float64{2, 4, 4, 1} {
		z, err := accountant.NoiseMultiplier(accountant.Analytic, 1, measured[i].rounds, epsilon, 1e-6)
		require.NoError(t, err)
		assert.InEpsilon(t, z, measured[i].multiplier, closeNoise/2)
		assert.True(t, measured[i].attacked < measured[i].committed && measured[i].committed < measured[i].clean)
	}
}

func TestAccuracy(t *testing.T) {
	run := with(defaults, func(in *Input) {
		in.Model, in.Rule, in.Momentum, in.Rounds, in.SamplingRate = strokes, "agnostic-mean", 0, 25, 1
		in.Accountant, in.NoiseMultiplier = accountant.Analytic, 11.15
	})
	for _, c := range []struct {
		name            string
		in              Input
		clean, attacked float64
		source          string
	}{
		{"default", run, 0.984, 0.961, "at noise multiplier 11.15"},
		{"no floor", with(run, func(in *Input) { in.NoiseFloor = false }), 0.984, 0, "11.15"},
		{"less noise", with(run, func(in *Input) { in.NoiseMultiplier = 11 }), 0, 0, "not measured: no run had"},
		{"other N", with(run, func(in *Input) { in.Participants = 5 }), 0, 0, "not measured: no run had"},
		{"other rounds", with(run, func(in *Input) { in.Rounds = 24 }), 0, 0, "not measured: no run had"},
		{"other clip", with(run, func(in *Input) { in.Clip = 2 }), 0, 0, "not measured: no run had"},
		{"other rate", with(run, func(in *Input) { in.SamplingRate, in.Accountant = 0.2, accountant.RDP }), 0, 0,
			"not measured"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := made(t, c.in).Accuracy
			for i, has := range []*float64{got.Clean, got.Attacked} {
				want := []float64{c.clean, c.attacked}[i]
				if assert.Equal(t, want != 0, has != nil) && has != nil {
					assert.InDelta(t, want, *has, 0)
				}
			}
			assert.Equal(t, c.clean != 0, got.Measured)
			assert.Contains(t, got.Source, c.source)
			assert.Equal(t, c.clean == 0, strings.HasPrefix(got.text(), "not measured"))
			assert.Equal(t, c.attacked != 0, strings.Contains(got.text(), "0.984 without attack, 0.961 under the worst"))
		})
	}
}

// TestTargetIsPaid: the ledger pays for all rounds of every target that a plan by RDP accepts.
func TestTargetIsPaid(t *testing.T) {
	for _, rate := range []float64{0.01, 1. / 30, 0.1, 0.3} {
		for _, epsilon := range []float64{0.5, 1, 2, 4, 8} {
			for _, rounds := range []int{10, 100, 300} {
				p := made(t, with(study(accountant.RDP, epsilon), func(in *Input) { in.SamplingRate, in.Rounds = rate, rounds }))
				require.GreaterOrEqual(t, *p.Ledger.Rounds, uint64(rounds), "q %v, epsilon %v", rate, epsilon)
				require.LessOrEqual(t, p.Ledger.Epsilon, epsilon)
				require.NotContains(t, strings.Join(p.Warnings, "\n"), "the chain's ledger")
			}
		}
	}
}

func TestRule(t *testing.T) {
	assert.Equal(t, Rule{Name: "nnm+trimmed-mean", Holds: true}, made(t, twenty).Rule)
	assert.Empty(t, made(t, twenty).Warnings)

	p := made(t, defaults)
	assert.False(t, p.Rule.Holds)
	assert.Contains(t, p.Rule.Why, "want N >= 2f+3 = 5")
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0], "take 5 participants, or rule agnostic-mean or cge or geometric-median or")
	assert.Contains(t, p.Warnings[0], "or trimmed-mean, or a smaller f")

	// The mean's theorem covers no Byzantine participant at any N.
	p = made(t, with(defaults, func(in *Input) { in.Rule = "mean" }))
	assert.Contains(t, p.Warnings[0], "want f = 0: take rule agnostic-mean or cge or geometric-median or")
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"noise", func(in *Input) { in.NoiseMultiplier = 39.7 }, "noise in the mean of all rounds is 0.59 times the clip " +
			"norm, above 0.25 it costs points of accuracy, above 0.6 it drowns the gradient: 7050 examples a participant (a " +
			"batch of 705), a model of at most 356 parameters, or a larger epsilon"},
		{"noise that drowns every model", func(in *Input) { in.NoiseMultiplier = 3970 }, "(a batch of 70483), or a " +
			"larger epsilon"},
		{"epsilon", func(in *Input) { in.NoiseMultiplier = 0.9 }, "is weak, at most 8 says something"},
		{"delta", func(in *Input) { in.Delta = 1e-3 }, "delta 0.001 is above 1/examples = 0.00033: publishing one example " +
			"in full would be within it; take 3e-05 or less"},
		{"batch", func(in *Input) { in.Fits = 99 }, "for 99 examples a participant, not for 3000: make the genesis with " +
			"--examples 3000, or"},
		{"batch of groups", func(in *Input) { in.Fits, in.Units = 99, "groups" }, "make the genesis with --data and " +
			"--group of such a table, or --examples 3000, which counts groups, or steps"},
		{"delta of groups", func(in *Input) { in.Delta, in.Units = 1e-3, "groups" }, "delta 0.001 is above 1/groups = " +
			"0.00033: publishing one group in full would be within it; take 3e-05 or less"},
		{"ledger", func(in *Input) { in.Accountant, in.NoiseMultiplier, in.Epsilon = accountant.PLD, 0, 4 },
			"of 100 rounds with a budget of epsilon 4: a budget of epsilon 4."},
		{"floor", func(in *Input) { in.NoiseFloor = false }, "no noise floor: a vector without noise is admitted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := made(t, with(twenty, c.change)).Warnings
			require.Len(t, got, 1)
			assert.Contains(t, got[0], c.want)
		})
	}
}

// TestCures: the change that a warning proposes removes the warning.
func TestCures(t *testing.T) {
	first := made(t, with(twenty, func(in *Input) {
		in.Accountant, in.NoiseMultiplier, in.Epsilon = accountant.PLD, 0, 4
	}))
	require.Less(t, *first.Ledger.Rounds, uint64(100))
	costs, err := accountant.ChainCosts(accountant.Mechanism{SamplingRate: 0.1,
		NoiseMultiplier: first.Ledger.LeastMultiplier})
	require.NoError(t, err)
	budget, err := accountant.ChainBudget(4, 1e-6)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, params.Privacy{Cost: costs, Budget: budget}.Participations(nil), uint64(100))

	larger := made(t, with(twenty, func(in *Input) { in.NoiseMultiplier, in.Samples = 39.7, 16170 }))
	assert.LessOrEqual(t, larger.NoiseToGradient, largeNoise)
	smaller := made(t, with(twenty, func(in *Input) {
		in.NoiseMultiplier, in.Model = 39.7,
			model.Spec{Inputs: 32, Classes: 2}
	}))
	assert.LessOrEqual(t, smaller.NoiseToGradient, largeNoise)
}

// TestLedgerWithoutCure: if the ledger does not pay with any noise that the accountant accepts, the
// plan proposes no noise.
func TestLedgerWithoutCure(t *testing.T) {
	l, err := with(defaults, func(in *Input) { in.SamplingRate = 1 }).ledger(1e9, 1e-7)
	require.NoError(t, err)
	assert.Less(t, *l.Rounds, uint64(100))
	assert.Zero(t, l.LeastMultiplier)
	// Very large costs do not wrap around.
	l, err = with(defaults, func(in *Input) { in.SamplingRate = 1 }).ledger(1e-6, 0)
	require.NoError(t, err)
	assert.Greater(t, l.Epsilon, 1e9)

	_, err = defaults.ledger(0, 1)
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = with(defaults, func(in *Input) { in.Delta = 2 }).ledger(1, 1)
	require.ErrorIs(t, err, accountant.ErrParameter)
	_, err = defaults.ledger(1, -1)
	require.ErrorIs(t, err, accountant.ErrParameter)
}

func TestErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		change func(*Input)
		want   string
	}{
		{func(in *Input) { in.Participants = 0 }, "0 participants, want 1 to 4096"},
		{func(in *Input) { in.Byzantine = 2 }, "2 Byzantine of 4 participants, want 0 to 1 (N >= 3f+1)"},
		{func(in *Input) { in.Byzantine = -1 }, "-1 Byzantine"},
		{func(in *Input) { in.Samples = 0 }, "0 examples"},
		{func(in *Input) { in.Samples, in.Units = 0, "groups" }, "0 groups"},
		{func(in *Input) { in.Batch = 10 }, "sampling rate 0.1 and batch 10, want one of them"},
		{func(in *Input) { in.SamplingRate = 0 }, "want one of them"},
		{func(in *Input) { in.SamplingRate, in.Batch = 0, 15001 }, "batch 15001, want 1 to the 15000 examples"},
		{func(in *Input) { in.SamplingRate, in.Batch = 0, -1 }, "batch -1"},
		{func(in *Input) { in.SamplingRate = 1.5 }, "sampling rate 1.5, want above 0 and at most 1"},
		{func(in *Input) { in.SamplingRate = nan }, "sampling rate NaN"},
		{func(in *Input) { in.Clip = 0 }, "clip norm 0"},
		{func(in *Input) { in.Clip = math.Inf(1) }, "clip norm +Inf"},
		{func(in *Input) { in.Momentum = 1.1 }, "worker momentum 1.1, want within [0, 1]"},
		{func(in *Input) { in.Rounds = 0 }, "0 rounds"},
		{func(in *Input) { in.RoundTime = 0 }, "round time 0s"},
		{func(in *Input) { in.Width = 3 }, "coordinates of 3 bytes"},
		{func(in *Input) { in.Epsilon = 1 }, "target epsilon 1 and noise multiplier 2.67, want one of them"},
		{func(in *Input) { in.NoiseMultiplier = 0 }, "want one of them"},
		{func(in *Input) { in.LearningRate = -1 }, "learning rate -1"},
		{func(in *Input) { in.Model.Classes = 1 }, "1 classes"},
		{func(in *Input) { in.Rule = "vote" }, `"vote"`},
		{func(in *Input) { in.Participants, in.Byzantine = 1, 0 }, "rule multi-krum cannot aggregate N-f gradients of N = " +
			"1 participants"},
		{func(in *Input) { in.Accountant = accountant.Analytic }, "accountant analytic needs sampling rate 1, not 0.1"},
	} {
		_, err := Make(with(defaults, c.change))
		require.ErrorIs(t, err, ErrInput, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	for _, change := range []func(*Input){
		func(in *Input) { in.Delta = 0 },
		func(in *Input) { in.NoiseMultiplier = -1 },
		func(in *Input) { in.NoiseMultiplier, in.Epsilon = 0, -1 },
		func(in *Input) { in.NoiseMultiplier, in.Epsilon, in.Accountant = 0, -1, Lemma1 },
		func(in *Input) { in.Delta, in.Accountant = 0, Lemma1 },
		func(in *Input) { in.NoiseMultiplier, in.Accountant = 0.001, accountant.PLD },
	} {
		_, err := Make(with(defaults, change))
		require.ErrorIs(t, err, accountant.ErrParameter)
	}
	_, err := Make(with(defaults, func(in *Input) { in.Clip = 1e308; in.SamplingRate, in.Batch = 0, 1 }))
	require.ErrorContains(t, err, "noise")
}

func TestWrite(t *testing.T) {
	text := func(in Input) string {
		var b bytes.Buffer
		made(t, in).Text(&b)
		return b.String()
	}
	got := text(defaults)
	for _, want := range []string{
		"multi-krum, OUTSIDE its theorem\n", "epsilon 1.998 at delta 1e-06 by rdp: a conclusion",
		"epsilon    1.998: an attacker who sees all that is public, knows all data but one example, and bets whether it is " +
			"in them, is right at most 88.1 of 100 times; a coin 50 times\n",
		"noise      0.0079 of the largest contribution, in the mean of all rounds: the verdict judges this noise; 0.0181 " +
			"in a single round, where attackers can hide", "mu              none: rounds sample",
		"100; epsilon is that of all together\n",
		"2.48 kB a gradient, 10.6 kB a round, 1.06 MB in all",
		"1m40s for all rounds, of 1s each", "; 919 MB of blocks a day if rounds went on",
		"\nwarning: krum: outside",
	} {
		assert.Contains(t, got, want)
	}
	assert.Contains(t, text(study(Lemma1, 1)), "NO GUARANTEE: lemma1 calls it epsilon 1 at delta 1e-06; by RDP "+
		"it is 0.2769")
	assert.Contains(t, text(study(Lemma1, 1)), "Lemma 1 (paper)")
	assert.NotContains(t, text(study(accountant.RDP, 1)), "Lemma 1", "it says nothing of a noise with a guarantee")
	assert.Contains(t, text(study(accountant.RDP, 1)), "after all rounds; a budget of the target pays for 100 rounds\n")
	p, b := made(t, study(accountant.RDP, 1)), bytes.Buffer{} // epsilon 0.9912
	p.Unit, p.Neighbours = "example", "neighbouring data sets differ by one"
	p.Text(&b)
	assert.Contains(t, b.String(), "at most 2.695 times as probable with the one example as without, plus delta\n")
	assert.Contains(t, b.String(), "protected  one example, of the 15000 of each participant: neighbouring data sets")
	assert.Contains(t, b.String(), "a patient with several rows or images is protected by a group alone")
	assert.Contains(t, text(study(accountant.RDP, 1)), "not measured: no run had")
	assert.NotContains(t, text(with(defaults, func(in *Input) { in.NoiseMultiplier = 1e-4; in.LearningRate = 1e-12 })),
		"Lemma")
	assert.Equal(t, "999 B", formatSize(999))
	assert.Equal(t, "9.22 EB", formatSize(math.MaxInt64))
}

func TestJSON(t *testing.T) {
	data, err := json.Marshal(made(t, twenty))
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(data, &fields))
	for _, name := range []string{"epsilon", "delta", "noise_multiplier", "rdp_epsilon", "noise_to_gradient", "rule",
		"accuracy", "traffic", "config", "lemma1", "warnings"} {
		assert.NotNil(t, fields[name], name)
	}
	assert.Equal(t, []any{}, fields["warnings"])
}

func ExampleMake() {
	p, err := Make(Input{
		Participants: 7, Byzantine: 2, Rule: "nnm+trimmed-mean", Model: model.Spec{Inputs: 196, Classes: 10},
		Width:      gradients.Int8,
		NoiseFloor: true, RoundTime: time.Second, Samples: 5000, SamplingRate: 0.1, Clip: 1, Momentum: 0.9, Rounds: 100,
		Accountant: accountant.RDP, Epsilon: 3, Delta: 1e-6,
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("noise multiplier %.3f, %.2f of the clip norm, %d bytes a round\n", p.NoiseMultiplier, p.NoiseToGradient,
		p.Traffic.Round)
	// Output: noise multiplier 1.963, 0.04 of the clip norm, 18222 bytes a round
}
