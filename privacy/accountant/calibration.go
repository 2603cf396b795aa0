package accountant

import (
	"fmt"
	"math"
)

// Calibration is the noise that a published formula asks for: what the formula says of it, and what
// is true of it. The two are shown together or not at all.
type Calibration struct {
	Formula         string  // "lemma1" or "prototype"
	Sigma           float64 // standard deviation of the noise on each coordinate of the gradient
	NoiseMultiplier float64 // Sigma over the sensitivity

	// The claim, by which this package does not stand.
	ClaimedEpsilon, ClaimedDelta float64

	// The RDP epsilon of the same rounds with that noise, at Delta. Delta is the claimed one.
	SamplingRate   float64
	Rounds         int
	Epsilon, Delta float64
}

// String says all of it in one line.
func (c Calibration) String() string {
	return fmt.Sprintf("%s: sigma %.4g called (%.4g, %.4g)-private; by RDP epsilon is %.4g at delta %.4g (noise multiplier %.4g, sampling rate %.4g, %d rounds)",
		c.Formula, c.Sigma, c.ClaimedEpsilon, c.ClaimedDelta, c.Epsilon, c.Delta, c.NoiseMultiplier, c.SamplingRate, c.Rounds)
}

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
	Sensitivity  float64 // C: how far one record can move the gradient that is released, clip norm over batch for a clipped mean
	LearningRate float64 // gamma
	Rounds       int     // T, at least 1
	Epsilon      float64 // the claim, above 0
	Delta        float64 // the claim, 1e-100 or more and below 1
}

// Calibrate returns the noise of the lemma beside its RDP epsilon when each record enters a round's
// batch with probability samplingRate; 1 if batches are not secret Poisson samples.
func (l Lemma1) Calibrate(samplingRate float64) (Calibration, error) {
	if err := positive("sensitivity", l.Sensitivity); err != nil {
		return Calibration{}, err
	}
	if err := positive("learning rate", l.LearningRate); err != nil {
		return Calibration{}, err
	}
	if err := checkDelta(l.Delta); err != nil {
		return Calibration{}, err
	}
	multiplier := float64(l.Rounds) * l.LearningRate * classical(l.Epsilon, l.Delta)
	return calibrate("lemma1", l.Sensitivity, multiplier, l.Epsilon, l.Delta, samplingRate, l.Rounds)
}

// Prototype is the noise of the authors' prototype (github.com/isSPDL/SPDL, gaussian_noise in
// MNIST_training_DP.py): with g the mean gradient of the batch,
//
//	sigma = 1e-6 ‖g‖ sqrt(2 ln(1.25/1e-5)) / epsilon
//
// in which 1e-6 stands where the sensitivity belongs, and the norm of the secret sets the noise
// that is to hide it. Clipping g at norm 100, as it does, bounds no example. The RDP epsilon beside
// it is that of a fixed sigma with the sensitivity given: the least that can be said.
type Prototype struct {
	GradientNorm float64 // ‖g‖
	Sensitivity  float64 // how far one record can move g; the largest observed example's norm over batch, for want of a bound
	Rounds       int     // at least 1
	Epsilon      float64 // the claim, above 0, at delta 1e-5
}

// Calibrate returns the prototype's noise beside its RDP epsilon, as [Lemma1.Calibrate] does. With
// the parameters it was published with that is beyond all use, 2e7 and more.
func (p Prototype) Calibrate(samplingRate float64) (Calibration, error) {
	const sensitivity, delta = 1e-6, 1e-5
	if err := positive("gradient norm", p.GradientNorm); err != nil {
		return Calibration{}, err
	}
	if err := positive("sensitivity", p.Sensitivity); err != nil {
		return Calibration{}, err
	}
	multiplier := sensitivity * p.GradientNorm / p.Sensitivity * classical(p.Epsilon, delta)
	return calibrate("prototype", p.Sensitivity, multiplier, p.Epsilon, delta, samplingRate, p.Rounds)
}

// classical returns the noise multiplier of the classical Gaussian mechanism (Dwork and Roth, 2014,
// theorem A.1).
func classical(epsilon, delta float64) float64 { return math.Sqrt(2*math.Log(1.25/delta)) / epsilon }

func calibrate(formula string, sensitivity, multiplier, epsilon, delta, samplingRate float64, rounds int) (Calibration, error) {
	if err := checkTarget(epsilon); err != nil {
		return Calibration{}, err
	}
	if rounds < 1 {
		return Calibration{}, fmt.Errorf("%w: %d rounds, want 1 to %d", ErrParameter, rounds, maxRounds)
	}
	sigma := multiplier * sensitivity
	if err := positive("sigma", sigma); err != nil {
		return Calibration{}, err
	}
	spent, err := Epsilon(RDP, delta, Step{Mechanism{samplingRate, multiplier}, rounds})
	if err != nil {
		return Calibration{}, fmt.Errorf("%s: %w", formula, err)
	}
	return Calibration{
		Formula: formula, Sigma: sigma, NoiseMultiplier: multiplier,
		ClaimedEpsilon: epsilon, ClaimedDelta: delta,
		SamplingRate: samplingRate, Rounds: rounds, Epsilon: spent, Delta: delta,
	}, nil
}

func positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%w: %s %v, want a positive finite number", ErrParameter, name, value)
	}
	return nil
}
