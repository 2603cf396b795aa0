package accountant

import (
	"fmt"
	"math"
)

// composed returns the mu of T rounds at q = 1: two unit Gaussians mu apart are as hard to tell from each other as all
// the rounds, mu² = Σ T/z². For equal rounds that is a single release with noise z/sqrt(T).
func composed(steps []Step) (mu float64, err error) {
	square := 0.0
	for _, s := range steps {
		if s.SamplingRate != 1 {
			return 0, fmt.Errorf("%w: sampling rate %v, want 1 for method %q", ErrParameter, s.SamplingRate, Analytic)
		}
		square += float64(s.Rounds) / (s.NoiseMultiplier * s.NoiseMultiplier)
	}
	return math.Sqrt(square), nil
}

// analyticDelta returns the smallest delta of a Gaussian with sensitivity mu and noise 1:
//
//	delta(epsilon) = P(X > a) - exp(epsilon) P(X > b), a = epsilon/mu - mu/2, b = epsilon/mu + mu/2
//
// (Balle and Wang, theorem 8). As exp(epsilon) density(b) = density(a), this is P(X > a) - density(a) mills(b), in
// which nothing overflows. Where the two terms cancel, what their rounding may have taken is added.
func analyticDelta(mu, epsilon float64) float64 {
	const rounding = 1e-14
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	if a > 0 {
		upper := mills(a)
		return asDelta(logDensity(a) + math.Log(upper-mills(b)+rounding*upper))
	}
	return min(survival(a)*(1+rounding)-math.Exp(logDensity(a))*mills(b), 1)
}

// analyticEpsilon returns the smallest epsilon at delta, by bisection to the last bits, from above.
func analyticEpsilon(mu, delta float64) float64 {
	if mu == 0 || analyticDelta(mu, 0) <= delta {
		return 0
	}
	// The tail of the loss N(mu²/2, mu²) alone bounds delta, so this is large enough.
	low, high := 0.0, mu*mu/2+mu*math.Sqrt(-2*math.Log(delta))
	for high-low > 1e-14*high {
		middle := low + (high-low)/2
		if analyticDelta(mu, middle) <= delta {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
