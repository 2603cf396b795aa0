package privacy

import "math"

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
