package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lemma 1 with the paper's T=100, gamma=0.01, delta=1e-6: sigma/C is 5.30/epsilon. What was
// measured of it before: the RDP epsilon of a Poisson batch at rate 1/30, and the exact one without
// secret sampling.
func TestLemma1(t *testing.T) {
	for _, tt := range []struct{ claimed, sampled, all float64 }{
		{0.4, 0.101, 3.56}, {1, 0.277, 10.3}, {2, 0.627, 24.4}, {4, 1.79, 63.6}, {8, 8.92, 185},
	} {
		l := Lemma1{Sensitivity: 2, LearningRate: 0.01, Rounds: 100, Epsilon: tt.claimed, Delta: 1e-6}
		c, err := l.Calibrate(1. / 30)
		require.NoError(t, err)
		assert.InEpsilon(t, 2*100*0.01*math.Sqrt(2*math.Log(1.25e6))/tt.claimed, c.Sigma, 1e-14)
		assert.InEpsilon(t, 5.30/tt.claimed, c.NoiseMultiplier, 1e-3)
		assert.InEpsilon(t, tt.sampled, c.Epsilon, 5e-3, "claimed %v", tt.claimed)
		assert.Equal(t, epsilonOf(t, RDP, 1e-6, steps(1./30, c.NoiseMultiplier, 100)), c.Epsilon)
		assert.InEpsilon(t, tt.all, epsilonOf(t, Analytic, 1e-6, steps(1, c.NoiseMultiplier, 100)), 5e-3)
	}
}

// Without its learning rate, the lemma needs 283 times the noise of RDP at epsilon 1 after 100
// rounds, and 747 times after 500.
func TestLemma1WithoutLearningRate(t *testing.T) {
	for rounds, want := range map[int]float64{100: 283, 500: 747} {
		c, err := Lemma1{Sensitivity: 1, LearningRate: 1, Rounds: rounds, Epsilon: 1, Delta: 1e-6}.Calibrate(1. / 30)
		require.NoError(t, err)
		assert.InEpsilon(t, want, c.NoiseMultiplier/noiseOf(t, RDP, 1./30, rounds, 1, 1e-6), 5e-3)
	}
}

// The learning rate turns up in the claim and not in the guarantee: 0.001 in the place of 0.01
// divides the noise by ten, for the same claim.
func TestLemma1ClaimsTheSameForLess(t *testing.T) {
	slow := Lemma1{Sensitivity: 1, LearningRate: 0.001, Rounds: 100, Epsilon: 1, Delta: 1e-6}
	fast := slow
	fast.LearningRate = 0.01
	a, err := slow.Calibrate(1)
	require.NoError(t, err)
	b, err := fast.Calibrate(1)
	require.NoError(t, err)
	assert.Equal(t, a.ClaimedEpsilon, b.ClaimedEpsilon)
	assert.InEpsilon(t, 10*a.NoiseMultiplier, b.NoiseMultiplier, 1e-12)
	assert.Greater(t, a.Epsilon, 10*b.Epsilon)
}

// The prototype's "epsilon 0.02" is in the tens of millions, and divided by 20 it is 400 times
// that.
func TestPrototype(t *testing.T) {
	p := Prototype{GradientNorm: 1, Sensitivity: 0.3, Rounds: 100, Epsilon: 0.02}
	c, err := p.Calibrate(1)
	require.NoError(t, err)
	assert.InEpsilon(t, 1e-6*math.Sqrt(2*math.Log(1.25/1e-5))/0.02, c.Sigma, 1e-14)
	assert.InEpsilon(t, 100/(2*c.NoiseMultiplier*c.NoiseMultiplier), c.Epsilon, 0.01, "hardly more than the mean loss")
	assert.True(t, c.Epsilon > 5e7 && c.Epsilon < 1e8, "epsilon %v", c.Epsilon)
	p.Epsilon *= 20
	worse, err := p.Calibrate(1)
	require.NoError(t, err)
	assert.InEpsilon(t, 400*c.Epsilon, worse.Epsilon, 0.01)
}

func TestCalibrationSaysBoth(t *testing.T) {
	c, err := Lemma1{Sensitivity: 1, LearningRate: 0.01, Rounds: 100, Epsilon: 4, Delta: 1e-6}.Calibrate(1)
	require.NoError(t, err)
	assert.Equal(t, "lemma1: sigma 1.325 called (4, 1e-06)-private; by RDP epsilon is 66.52 at delta 1e-06 (noise multiplier 1.325, sampling rate 1, 100 rounds)", c.String())
}

func TestBadCalibrations(t *testing.T) {
	good := Lemma1{Sensitivity: 1, LearningRate: 0.01, Rounds: 100, Epsilon: 1, Delta: 1e-6}
	for says, spoil := range map[string]func(*Lemma1){
		"sensitivity 0,":           func(l *Lemma1) { l.Sensitivity = 0 },
		"sensitivity +Inf":         func(l *Lemma1) { l.Sensitivity = math.Inf(1) },
		"learning rate -1":         func(l *Lemma1) { l.LearningRate = -1 },
		"-5 rounds":                func(l *Lemma1) { l.Rounds = -5 },
		"target epsilon 0":         func(l *Lemma1) { l.Epsilon = 0 },
		"delta 0,":                 func(l *Lemma1) { l.Delta = 0 },
		"noise multiplier 5.29880": func(l *Lemma1) { l.LearningRate = 1e10 },
		"sigma +Inf":               func(l *Lemma1) { l.Sensitivity, l.LearningRate = 1e300, 1e10 },
	} {
		bad := good
		spoil(&bad)
		_, err := bad.Calibrate(0.1)
		require.ErrorIs(t, err, ErrParameter, says)
		assert.ErrorContains(t, err, says)
	}
	_, err := good.Calibrate(0)
	assert.ErrorContains(t, err, "sampling rate 0")
	for says, p := range map[string]Prototype{
		"gradient norm 0":    {Sensitivity: 1, Rounds: 1, Epsilon: 1},
		"sensitivity NaN":    {GradientNorm: 1, Sensitivity: math.NaN(), Rounds: 1, Epsilon: 1},
		"noise multiplier 4": {GradientNorm: 1, Sensitivity: 1, Rounds: 1, Epsilon: 10},
	} {
		_, err := p.Calibrate(1)
		require.ErrorIs(t, err, ErrParameter, says)
		assert.ErrorContains(t, err, says)
	}
}
