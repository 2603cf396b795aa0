package accountant

import (
	"cmp"
	"fmt"
	"math"
)

// Lemma1 is lemma 1 of the SPDL paper (Xu, Zou, Cheng, Hu, Yu, Cheng, "SPDL: a blockchain-enabled
// secure and privacy-preserving decentralized learning system"): T rounds of gradients with noise
// N(0, sigma²) are (epsilon, delta)-private if
//
//	sigma >= C T gamma sqrt(2 ln(1.25/delta)) / epsilon
//
// It is a preset, not an accountant:
//
//   - The learning rate gamma has no place in it. The gradient is what is released, not gamma times
//     it, so that a rate of 0.001 buys a claim ten times as strong as 0.01 for less noise.
//   - It is linear in T, as basic composition is, where the square root suffices; yet it leaves
//     delta alone, which basic composition multiplies by T.
//   - It uses the classical Gaussian mechanism, proven for epsilon below 1, with the whole data set
//     in each batch.
//   - C bounds nothing unless each example's gradient is clipped.
type Lemma1 struct {
	// C: how far one record can move the gradient that is released, clip norm over batch for a clipped mean
	Sensitivity  float64
	LearningRate float64 // gamma
	Rounds       int     // T, at least 1
	Epsilon      float64 // the claim, above 0
	Delta        float64 // the claim, 1e-100 or more and below 1
}

// Calibration is the noise that the lemma requires, its claim, and the true epsilon of that noise.
// Claim and truth are shown together or not at all.
type Calibration struct {
	Sigma           float64 // standard deviation of the noise on each coordinate of the gradient
	NoiseMultiplier float64 // Sigma over the sensitivity
	ClaimedEpsilon  float64 // for which this package does not vouch
	Epsilon         float64 // by RDP, of the same rounds with that noise, at the claimed delta
}

// Calibrate returns the noise of the lemma and its RDP epsilon when each record enters a round's batch with probability
// samplingRate; 1 if batches are not secret Poisson samples. It fails with ErrParameter.
func (l Lemma1) Calibrate(samplingRate float64) (Calibration, error) {
	if err := cmp.Or(positive("sensitivity", l.Sensitivity), positive("learning rate", l.LearningRate),
		checkDelta(l.Delta), checkTarget(l.Epsilon)); err != nil {
		return Calibration{}, err
	}
	if l.Rounds < 1 {
		return Calibration{}, fmt.Errorf("%w: %d rounds, want 1 to %d", ErrParameter, l.Rounds, maxRounds)
	}
	// The root is the noise multiplier of the classical Gaussian mechanism at epsilon 1 (Dwork and
	// Roth, 2014, theorem A.1).
	multiplier := float64(l.Rounds) * l.LearningRate * (math.Sqrt(2*math.Log(1.25/l.Delta)) / l.Epsilon)
	sigma := multiplier * l.Sensitivity
	if err := positive("sigma", sigma); err != nil {
		return Calibration{}, err
	}
	spent, err := Epsilon(RDP, l.Delta, Step{Mechanism{samplingRate, multiplier}, l.Rounds})
	if err != nil {
		return Calibration{}, fmt.Errorf("lemma1: %w", err)
	}
	return Calibration{Sigma: sigma, NoiseMultiplier: multiplier, ClaimedEpsilon: l.Epsilon, Epsilon: spent}, nil
}

func positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%w: %s %v, want a positive finite number", ErrParameter, name, value)
	}
	return nil
}
