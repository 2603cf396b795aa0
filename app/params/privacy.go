package params

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spdl/spdl/privacy/floor"
)

// These are the values of Privacy.Mechanism.
const (
	MechanismGaussian  = "gaussian"
	MechanismPrototype = "prototype"
	MechanismNone      = "none"
)

// batchSlack is the number of standard deviations by which a Poisson batch may exceed its expected size.
const batchSlack = 8

// Noise returns the properties of the noise in an honest vector, from which package floor bounds the
// vector's norm. A sum over a batch of fixed size is at most batch times the clip norm. So is one over
// all of a participant's rows, because its worker projects the sum of more rows.
func (p Params) Noise() floor.Noise {
	batch, slack := float64(p.Privacy.Batch), 0.0
	if p.Privacy.Samples() {
		slack = float64(p.Privacy.Clip*batchSlack) / math.Sqrt(batch)
	}
	return floor.Noise{
		Std:      float64(p.Privacy.NoiseMultiplier*p.Privacy.Clip) / batch,
		Momentum: p.Privacy.WorkerMomentum,
		Signal:   p.Privacy.Clip + slack,
		Step:     p.Grid.Step,
		Dim:      p.Model.Dim(),
	}
}

// Samples reports whether a round draws a batch of unknown size. At rate 1 a round takes all rows, and
// at rate 0 a batch of fixed size.
func (p Privacy) Samples() bool { return p.SamplingRate > 0 && p.SamplingRate < 1 }

// Sums reports whether a participant's vector is the sum of all its noised gradients of the epoch, which
// the model of the epoch's beginning moves by (ADR 44).
func (p Privacy) Sums() bool { return p.WorkerMomentum == 1 }

// DistanceFloor returns the min squared distance that the rule assumes between two vectors of a round.
// fewest is the number of releases of the participant that has made the fewest of them, whose vector has
// the least noise. With sums the floor is that of vectors of all rounds: a participant that stays away cannot lower it.
func (p Params) DistanceFloor(round uint64, fewest int) int64 {
	if !p.Privacy.NoiseFloor {
		return 0
	}
	if p.Privacy.Sums() {
		fewest = int(round) + 1
	}
	return p.Noise().Distance(fewest)
}

// Fits returns the number of examples for which the batch size is meant: Batch/SamplingRate. ok
// reports whether the given number of examples is at least half and at most twice that number. A
// batch of fixed size is meant for any number of examples.
func (p Privacy) Fits(examples int) (intended int, ok bool) {
	if p.SamplingRate == 0 {
		return examples, true
	}
	n := float64(p.Batch) / p.SamplingRate
	return int(math.Round(n)), float64(examples) <= 2*n && 2*float64(examples) >= n
}

func (p Privacy) validate() error {
	return cmp.Or(p.validateNoise(), p.validateMechanism(), p.validateRelease())
}

// validateNoise checks the settings that the mechanism's noise needs.
func (p Privacy) validateNoise() error {
	switch p.Mechanism {
	case MechanismGaussian:
		if !positive(p.Clip) || !positive(p.NoiseMultiplier) {
			return fmt.Errorf("privacy.clip is %g and noise_multiplier %g, want above 0", p.Clip, p.NoiseMultiplier)
		}
		if std := p.NoiseMultiplier * p.Clip / float64(max(p.Batch, 1)); !positive(std * std) {
			return fmt.Errorf("privacy.noise_multiplier %g, clip %g and batch %d make noise of standard deviation %g, "+
				"out of range", p.NoiseMultiplier, p.Clip, p.Batch, std)
		}
	case MechanismPrototype:
		if !positive(p.PrototypeEpsilon) {
			return fmt.Errorf("privacy.prototype_epsilon is %g, want above 0", p.PrototypeEpsilon)
		}
	case MechanismNone:
	default:
		return fmt.Errorf("privacy.mechanism is %q, want %q, %q or %q", p.Mechanism, MechanismGaussian, MechanismPrototype,
			MechanismNone)
	}
	return nil
}

// validateMechanism rejects settings that belong to another mechanism.
func (p Privacy) validateMechanism() error {
	switch {
	case p.Mechanism != MechanismGaussian && p.NoiseMultiplier != 0:
		return fmt.Errorf("privacy.noise_multiplier is %g, want 0 for mechanism %q", p.NoiseMultiplier, p.Mechanism)
	case p.Mechanism != MechanismGaussian && p.Discrete:
		return fmt.Errorf("privacy.discrete with mechanism %q, want %q", p.Mechanism, MechanismGaussian)
	case p.Mechanism != MechanismGaussian && p.Lemma1Epsilon != 0:
		return fmt.Errorf("privacy.lemma1_epsilon is %g with mechanism %q, want 0: Lemma 1 asks for noise of %q",
			p.Lemma1Epsilon, p.Mechanism, MechanismGaussian)
	case !(p.Lemma1Epsilon >= 0) || math.IsInf(p.Lemma1Epsilon, 0):
		return fmt.Errorf("privacy.lemma1_epsilon is %g, want at least 0", p.Lemma1Epsilon)
	case p.Mechanism != MechanismPrototype && p.PrototypeEpsilon != 0:
		return fmt.Errorf("privacy.prototype_epsilon is %g, want 0 for mechanism %q", p.PrototypeEpsilon, p.Mechanism)
	}
	return nil
}

// validateRelease checks the ranges of the settings that every mechanism has.
func (p Privacy) validateRelease() error {
	switch {
	case p.Batch == 0:
		return fmt.Errorf("privacy.batch is 0, want at least 1")
	case !(p.SamplingRate >= 0 && p.SamplingRate <= 1):
		return fmt.Errorf("privacy.sampling_rate is %g, want within [0, 1]", p.SamplingRate)
	case !(p.WorkerMomentum >= 0 && p.WorkerMomentum <= 1):
		return fmt.Errorf("privacy.worker_momentum is %g, want within [0, 1]", p.WorkerMomentum)
	case p.Sums() && p.Samples():
		return fmt.Errorf("privacy.sampling_rate is %g with worker_momentum 1, want 0 or 1: only sums of full batches were "+
			"measured", p.SamplingRate)
	case !(p.Clip >= 0) || math.IsInf(p.Clip, 0):
		return fmt.Errorf("privacy.clip is %g, want at least 0", p.Clip)
	}
	return nil
}

// These are the bounds on the noise that a grid can carry. Below the min, most coordinates of a
// participant's first vector round to 0, and the chain rejects the vector's norm (G6). Above the
// max, coordinates are clipped at the end of the grid.
const (
	leastNoiseSteps    = 0.3 // min std of the noise in a first vector, in grid steps; momentum raises it later
	noiseStdsOnTheGrid = 3   // min distance from 0 to the grid's end, in stds of the final noise
)

// validateStep rejects a grid step that is too coarse or too fine for the noise. With a step that
// is too coarse, the noise of a participant's first vector rounds to 0. With a step that is too
// fine, coordinates reach the end of the grid and are clipped.
func (p Params) validateStep() error {
	if p.Privacy.Mechanism != MechanismGaussian {
		return nil
	}
	n := p.Noise()
	steps := func(factor float64) float64 { return float64(n.Std*math.Sqrt(factor)) / n.Step }
	first := steps(floor.VarianceFactor(n.Momentum, 1))
	if !(first >= leastNoiseSteps) {
		return fmt.Errorf("grid.step %g is too coarse: the noise of a first release is %.3g steps, want at least %g", n.Step,
			first, leastNoiseSteps)
	}
	last, end := steps(float64(1-n.Momentum)/(1+n.Momentum)), float64(p.Grid.Lattice().Width.Max())
	if p.Privacy.Sums() {
		last = steps(float64(p.Training.Rounds))
	}
	if !(float64(noiseStdsOnTheGrid*last) <= end) {
		return fmt.Errorf("grid.step %g is too fine: the noise is %.4g steps and the grid ends at %g, want at least %d "+
			"times the noise", n.Step, last, end, noiseStdsOnTheGrid)
	}
	return nil
}

// validateFloor rejects a noise floor if the norm of the noise is unknown, or if no vector on the
// grid reaches the floor.
func (p Params) validateFloor() error {
	if !p.Privacy.NoiseFloor {
		return nil
	}
	if p.Privacy.Mechanism != MechanismGaussian {
		return fmt.Errorf("privacy.noise_floor with mechanism %q, only %q has noise of a known norm", p.Privacy.Mechanism,
			MechanismGaussian)
	}
	end := p.Grid.Lattice().Width.Max()
	// The norm of the noise rises with the rounds. It converges, or is that of a sum, which validateStep
	// keeps on the grid: the limit on rounds does no harm.
	rounds := int(min(p.Training.Rounds, math.MaxInt32))
	if least, _ := p.Noise().Bounds(rounds, rounds); least > int64(p.Model.Dim())*end*end {
		return fmt.Errorf("privacy.noise_floor asks for a squared norm of at least %d grid steps, a vector of %d "+
			"coordinates up to %d has %d: grid.step %g is too small for the noise",
			least, p.Model.Dim(), end, int64(p.Model.Dim())*end*end, p.Grid.Step)
	}
	return nil
}
