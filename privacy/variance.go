package privacy

import (
	"math"
	"math/bits"
)

// stepsPerStd is the default resolution of the integer grid: steps per standard deviation of the final noise. At 8 the
// rounding adds 0.1 % to that deviation, and int8 saturates beyond 15.9 of them.
const stepsPerStd = 8

// VarianceFactor is v_t = (1-beta)(1-beta^(2t))/(1+beta): what momentum leaves of the noise variance in the vector of
// release t, counted from 1, when every release before went through the same momentum. It rises from (1-beta)² at t=1 to
// (1-beta)/(1+beta); it is 0 for t <= 0. Beta is in [0, 1).
//
// Chains derive admission bounds from it, so it has the same bits on every machine: only sums, products and quotients, none
// fused, and no math.Pow. It is computed as (1-beta)² times the geometric sum it comes from, whose terms are all positive:
// nothing cancels when beta is close to 1.
func VarianceFactor(beta float64, t int) float64 {
	if t <= 0 {
		return 0
	}
	return (1 - beta) * (1 - beta) * geometric(float64(beta*beta), t)
}

// geometric is 1 + x + ... + x^(n-1) for n >= 0, by doubling n from its leading bit down. The explicit conversions keep
// compilers from fusing a product into the sum that follows.
func geometric(x float64, n int) float64 {
	sum, next := 0.0, 1.0 // of the k terms that the bits so far stand for, and x^k
	for bit := bits.Len(uint(n)) - 1; bit >= 0; bit-- {
		sum += float64(sum * next)
		next = float64(next * next)
		if n>>bit&1 == 1 {
			sum = 1 + float64(sum*x)
			next = float64(next * x)
		}
	}
	return sum
}

// SubmittedStd is s_t = (z*C/B)*sqrt(v_t): the standard deviation of the noise in each coordinate of the vector of release
// t, counted from 1, before rounding to the grid; in units of the batch-mean gradient. It is 0 for kinds whose noise is not
// known in advance. Same bits on every machine.
func SubmittedStd(c Config, t int) float64 {
	return roundStd(c) * math.Sqrt(VarianceFactor(c.Momentum, t))
}

// FinalStd is the limit of [SubmittedStd] for large t: (z*C/B)*sqrt((1-beta)/(1+beta)).
func FinalStd(c Config) float64 {
	return roundStd(c) * math.Sqrt((1-c.Momentum)/(1+c.Momentum))
}

// StepFor is the default grid step, FinalStd/8. It is 0 if the config has no noise known in advance; the step must then be
// given.
func StepFor(c Config) float64 { return FinalStd(c) / stepsPerStd }

// roundStd is the standard deviation z*C/B of the noise in one round's batch mean, before momentum.
func roundStd(c Config) float64 {
	if c.Kind != Gaussian {
		return 0
	}
	return c.NoiseMultiplier * c.Clip / c.ExpectedBatch
}
