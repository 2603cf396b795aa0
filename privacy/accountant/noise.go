package accountant

import (
	"fmt"
	"math"
)

// noisePrecision is how far NoiseMultiplier may be above the least one, relatively.
const noisePrecision = 1e-6

// NoiseMultiplier returns the noise, in units of the clip norm, that a number of rounds at a sampling rate needs for a
// target epsilon at delta. It is within 1e-6 of the least sufficient noise (as far as PLD's grids can tell), and always
// on the sufficient side: [Epsilon] of the result is at most the target. If any noise is sufficient, as when records
// are hardly ever drawn, it is the least that the method accepts.
func NoiseMultiplier(method Method, samplingRate float64, rounds int, epsilon, delta float64) (float64, error) {
	if err := checkTarget(epsilon); err != nil {
		return 0, err
	}
	if rounds < 1 {
		return 0, fmt.Errorf("%w: %d rounds, want 1 to %d", ErrParameter, rounds, maxRounds)
	}
	spend := func(method Method, z float64) (float64, error) {
		return Epsilon(method, delta, Step{Mechanism{samplingRate, z}, rounds})
	}
	if method != PLD {
		return leastNoise(func(z float64) (float64, error) { return spend(method, z) }, epsilon, 1, 2, minNoiseMultiplier)
	}
	// PLD is dearer, and never above RDP: begin close to the solution.
	start, err := NoiseMultiplier(RDP, samplingRate, rounds, epsilon, delta)
	if err != nil {
		return 0, err
	}
	return leastNoise(func(z float64) (float64, error) { return spend(PLD, z) }, epsilon, max(start, pldMinNoise), 1.1,
		pldMinNoise)
}

// leastNoise solves spend(z) = epsilon for a falling spend: steps by a growing factor from start to
// a bracket, then regula falsi in the logarithms of both (Illinois), with a bisection every third
// time so that the bracket must close. A spend that fails ends it, as no noise helps then.
func leastNoise(spend func(z float64) (float64, error), epsilon, start, factor, least float64) (float64, error) {
	var failed error
	excess := func(z float64) float64 {
		spent, err := spend(z)
		if err != nil {
			failed = err
		}
		// A spent epsilon of 0, or of next to nothing, says only that there is far to go.
		return math.Log(max(spent/epsilon, 1e-3))
	}
	low, below := start, excess(start) // low spends too much, by below > 0 in the end
	high, above := low, below          // high does not
	for ; below <= 0 && failed == nil; factor *= factor {
		if low == least {
			return least, nil
		}
		high, above = low, below
		low = max(low/factor, least)
		below = excess(low)
	}
	for ; above > 0 && failed == nil; factor *= factor {
		if high == maxNoiseMultiplier {
			return 0, fmt.Errorf("%w: epsilon %v is out of reach of a noise multiplier of %v", ErrParameter, epsilon, high)
		}
		low, below = high, above
		high = min(high*factor, maxNoiseMultiplier)
		above = excess(high)
	}
	for i := 0; high > low*(1+noisePrecision) && failed == nil; i++ {
		share := below / (below - above)
		if i%3 == 2 {
			share = 0.5
		}
		// Keep off the ends by a third of the precision: near one of them the last step closes the bracket from both sides.
		margin := min(noisePrecision/3/math.Log(high/low), 0.5)
		middle := low * math.Pow(high/low, min(max(share, margin), 1-margin))
		if value := excess(middle); value > 0 {
			low, below = middle, value
			above /= 2
		} else {
			high, above = middle, value
			below /= 2
		}
	}
	if failed != nil {
		return 0, failed
	}
	return high, nil
}
