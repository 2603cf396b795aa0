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
}
