package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// hockeyStick is ∫ max(p - exp(epsilon) q, 0) for N(mu, 1) against N(0, 1), by the midpoint rule.
func hockeyStick(mu, epsilon float64) float64 {
	const n = 400000
	low := epsilon/mu + mu/2 // where the integrand starts
	h := (max(low, mu) + 12 - low) / n
	sum := 0.0
	for i := range n {
		x := low + (float64(i)+0.5)*h
		sum += math.Exp(-(x-mu)*(x-mu)/2) - math.Exp(epsilon-x*x/2)
	}
	return sum * h / math.Sqrt(2*math.Pi)
}

func TestAnalyticAgainstQuadrature(t *testing.T) {
	for _, mu := range []float64{0.01, 0.3, 1, 3, 10} {
		for _, factor := range []float64{-1, 0, 0.5, 2, 5} {
			epsilon := mu*mu/2 + factor*mu
			if epsilon < 0 {
				continue
			}
			assert.InEpsilon(t, hockeyStick(mu, epsilon), analyticDelta(mu, epsilon), 1e-6, "mu=%v epsilon=%v", mu, epsilon)
		}
	}
}

func TestAnalyticInverse(t *testing.T) {
	for _, mu := range []float64{1e-4, 0.1, 1, 20, 1e3, 1e6} {
		for _, delta := range []float64{1e-100, 1e-30, 1e-12, 1e-6, 0.01, 0.3, 0.99} {
			epsilon := analyticEpsilon(mu, delta)
			assert.LessOrEqual(t, analyticDelta(mu, epsilon), delta, "mu=%v", mu)
			if epsilon > 0 {
				assert.Greater(t, analyticDelta(mu, epsilon*(1-1e-9)), delta, "mu=%v delta=%v", mu, delta)
			}
		}
	}
}

func TestAnalyticComposition(t *testing.T) {
	// T rounds are one with noise z/sqrt(T); unequal rounds add as squares of 1/z.
	assert.InEpsilon(t, epsilonOf(t, Analytic, 1e-6, steps(1, 2, 1)), epsilonOf(t, Analytic, 1e-6, steps(1, 20, 100)),
		1e-12)
	assert.InEpsilon(t, epsilonOf(t, Analytic, 1e-6, steps(1, 12, 1)), epsilonOf(t, Analytic, 1e-6, steps(1, 20, 1),
		steps(1, 15, 1)), 1e-12)
	assert.InEpsilon(t, deltaOf(t, Analytic, 1, steps(1, 12, 1)), deltaOf(t, Analytic, 1, steps(1, 20, 1),
		steps(1, 15, 1)), 1e-12)
}

func TestAnalyticIsBelowRDP(t *testing.T) {
	for _, z := range []float64{0.3, 1, 10, 500} {
		for _, rounds := range []int{1, 100, 1e6} {
			for _, delta := range []float64{1e-12, 1e-6, 1e-2} {
				exact, rdp := epsilonOf(t, Analytic, delta, steps(1, z, rounds)), epsilonOf(t, RDP, delta, steps(1, z, rounds))
				assert.LessOrEqual(t, exact, rdp, "z=%v T=%v delta=%v", z, rounds, delta)
			}
		}
	}
}
