package privacy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// ErrConfig is wrapped by every error that [Config.Validate] and [New] return.
var ErrConfig = errors.New("privacy: bad config")

// Kind names a noise mechanism.
type Kind string

const (
	// Gaussian adds noise of standard deviation NoiseMultiplier*Clip to the sum of clipped
	// gradients: differential privacy, as much as the accountant says.
	Gaussian Kind = "gaussian"
	// Prototype adds the noise of the paper's prototype to the batch mean g, of standard deviation
	// 1e-6*‖g‖*sqrt(2 ln(1.25/1e-5))/PrototypeEpsilon. It scales with the secret it should hide and
	// nothing bounds one example's influence: NO DP GUARANTEE.
	Prototype Kind = "prototype"
	// None adds nothing: NO DP GUARANTEE.
	None Kind = "none"
)

// Config describes a mechanism. It is public: all workers of a chain use the same.
type Config struct {
	Kind Kind
	// Clip is C, the bound on the norm of one example's gradient in the sum. Gaussian needs it;
	// elsewhere 0 means that gradients are not clipped.
	Clip float64
	// NoiseMultiplier is z, the noise's standard deviation on the sum in units of Clip. Gaussian only.
	NoiseMultiplier float64
	// Discrete draws the noise from the discrete Gaussian, exactly, on a lattice of z*C/2^26 or
	// finer to which the sum is rounded first. Nothing then depends on how floats round the noise.
	// Gaussian only; the guarantee is that of the same NoiseMultiplier, the noise greater by a
	// factor below 1 + z*sqrt(d)/2^26 + 2^-25, which pays for the rounding. Slower.
	Discrete bool
	// ExpectedBatch is B: the sampling rate times the number of a worker's examples, or the fixed size of its batches.
	ExpectedBatch float64
	// Momentum is beta, in [0, 1]. At 0 the vector submitted is the round's own, and at 1 the sum of all.
	Momentum float64
	// PrototypeEpsilon is the parameter that the paper's prototype calls epsilon. Prototype only.
	PrototypeEpsilon float64
}

// Validate returns nil, or an error wrapping ErrConfig that names the field, its value and the
// bound. A parameter of another kind must be 0, so that no config looks more private than it is.
func (c Config) Validate() error {
	std := FinalStd(c)
	return cmp.Or(
		want(c.Kind == Gaussian || c.Kind == Prototype || c.Kind == None,
			"kind %q, want %q, %q or %q", c.Kind, Gaussian, Prototype, None),
		want(c.ExpectedBatch > 0 && !math.IsInf(c.ExpectedBatch, 1),
			"expected batch %v, want a positive finite number", c.ExpectedBatch),
		want(c.Momentum >= 0 && c.Momentum <= 1, "momentum %v, want within [0, 1]", c.Momentum),
		want(c.Clip >= 0 && !math.IsInf(c.Clip, 1), "clip norm %v, want a finite number of at least 0", c.Clip),
		want(c.Kind != Gaussian || c.Clip != 0,
			"clip norm 0, want it positive for kind %q: without it one example has no bound", c.Kind),
		c.only(Gaussian, "noise multiplier", c.NoiseMultiplier),
		c.only(Prototype, "prototype epsilon", c.PrototypeEpsilon),
		want(c.Kind == Gaussian || !c.Discrete, "discrete noise, want none for kind %q", c.Kind),
		want(c.Kind != Gaussian || std > 0 && !math.IsInf(std, 1),
			"final noise %v from clip %v, multiplier %v, batch %v and momentum %v, want a positive finite number",
			std, c.Clip, c.NoiseMultiplier, c.ExpectedBatch, c.Momentum),
	)
}

// only checks a parameter that the kind needs and no other kind may have.
func (c Config) only(kind Kind, name string, value float64) error {
	if c.Kind != kind {
		return want(value == 0, "%s %v, want 0 for kind %q", name, value, c.Kind)
	}
	return want(value > 0 && !math.IsInf(value, 1),
		"%s %v, want a positive finite number for kind %q", name, value, c.Kind)
}

// want returns nil if ok, else an error that wraps ErrConfig.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
}

// stepsPerStd is the default resolution of the integer grid: steps per standard deviation of the final noise. At 8 the
// rounding adds 0.1 % to that deviation, and int8 saturates beyond 15.9 of them.
const stepsPerStd = 8

// FinalStd returns the limit for large t of (z*C/B)*sqrt(v_t), the standard deviation of the noise in a coordinate of
// release t: (z*C/B)*sqrt((1-beta)/(1+beta)). Sums, of beta 1, have no limit: it is then z*C/B, of the first.
func FinalStd(c Config) float64 {
	if c.Momentum == 1 {
		return roundStd(c)
	}
	return roundStd(c) * math.Sqrt((1-c.Momentum)/(1+c.Momentum))
}

// StepFor returns the default grid step, FinalStd/8. It is 0 if the config has no noise known in
// advance; the step must then be given.
func StepFor(c Config) float64 { return FinalStd(c) / stepsPerStd }

// roundStd returns the standard deviation z*C/B of the noise in one round's batch mean, before momentum.
func roundStd(c Config) float64 {
	if c.Kind != Gaussian {
		return 0
	}
	return c.NoiseMultiplier * c.Clip / c.ExpectedBatch
}
