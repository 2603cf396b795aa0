package accountant

import (
	"math"
	"math/rand/v2"
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

// logDeltaByQuadrature is the logarithm of the same integral. With s from where the integrand begins it is that of
// density(a+s) (1 - exp(-mu s)), a = epsilon/mu - mu/2: by Simpson's rule, with density(a) taken out,
// so that neither tails nor differences lose digits.
func logDeltaByQuadrature(mu, epsilon float64) float64 {
	const n = 20000 // even
	a := epsilon/mu - mu/2
	end := math.Abs(a) + 12
	if a > 0 {
		end = min(12, 80/a)
	}
	h, sum := end/n, 0.0
	for i := range n + 1 {
		weight := float64(2 + 2*(i&1))
		if i == 0 || i == n {
			weight = 1
		}
		s := float64(i) * h
		sum += weight * math.Exp(-a*s-s*s/2) * -math.Expm1(-mu*s)
	}
	return math.Log(sum*h/3) - a*a/2 - math.Log(2*math.Pi)/2
}

// TestChainOfFullBatches: the ledger of full batches states an epsilon that holds and is exact, by an
// integration of its own, in 200 random settings: below it the delta is missed, and divergences say
// more. The budget of an epsilon holds too, and the next mu does not. Both rise.
func TestChainOfFullBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	for range 200 {
		delta, rounds := between(1e-60, 1e-3), int(between(1, 1000))
		z := math.Sqrt(float64(rounds)) / between(0.01, 10)
		mu := math.Sqrt(float64(rounds)) / z
		costs, err := ChainCosts(Mechanism{1, z})
		assert.NoError(t, err)
		spent := func(rounds int) []uint64 {
			all := make([]uint64, len(costs))
			for i, c := range costs {
				all[i] = c * uint64(rounds)
			}
			return all
		}
		epsilon, err := ChainEpsilon(spent(rounds), delta)
		assert.NoError(t, err)
		setting := []any{"delta %v, %d rounds of noise %v", delta, rounds, z}
		assert.LessOrEqual(t, logDeltaByQuadrature(mu, epsilon), math.Log(delta), setting...)
		last := len(costs) - 1
		entry := spent(rounds)[last]
		assert.InDelta(t, mu*mu/pico, entry, 1.1e-8*mu*mu/pico+2*float64(rounds), setting...)
		assert.Greater(t, logDeltaByQuadrature(chainMu(entry), epsilon*(1-1e-6)), math.Log(delta), setting...)
		assert.Greater(t, epsilonOf(t, RDP, delta, steps(1, z, rounds)), epsilon, setting...)
		more, err := ChainEpsilon(spent(rounds+1), delta)
		assert.NoError(t, err)
		assert.Greater(t, more, epsilon, setting...)

		budget, err := ChainBudget(epsilon, delta)
		assert.NoError(t, err)
		assert.InEpsilon(t, entry, budget[last], 1e-9, setting...)
		top := chainMu(budget[last])
		assert.LessOrEqual(t, logDeltaByQuadrature(top, epsilon), math.Log(delta)+1e-9, setting...)
		assert.Greater(t, logDeltaByQuadrature(top*(1+1e-6), epsilon), math.Log(delta), setting...)
		wider, err := ChainBudget(epsilon*1.001, delta)
		assert.NoError(t, err)
		assert.Greater(t, wider[last], budget[last], setting...)
	}
}

// TestChainMuAtItsEnds: nothing spent is epsilon 0, and so is a mu that delta covers alone.
func TestChainMuAtItsEnds(t *testing.T) {
	ledger := make([]uint64, chainColumns)
	for i := range ledger {
		ledger[i] = ChainMost + 1
	}
	for _, entry := range []uint64{0, 1, 5} {
		ledger[len(ledger)-1] = entry
		epsilon, err := ChainEpsilon(ledger, 1e-6)
		assert.NoError(t, err)
		assert.Zero(t, epsilon, "a total variation of %v", chainMu(entry)/math.Sqrt(2*math.Pi))
	}
	ledger[len(ledger)-1] = ChainMost
	epsilon, err := ChainEpsilon(ledger, 1e-6)
	assert.NoError(t, err)
	assert.InEpsilon(t, ChainMost*pico/2+4.7534*chainMu(ChainMost), epsilon, 1e-3, "4.7534 is Phi^-1(1 - 1e-6)")
	budget, err := ChainBudget(0, 1e-6)
	assert.NoError(t, err)
	assert.InDelta(t, 2*math.Pi, budget[len(budget)-1], 1, "the largest mu² of total variation 1e-6, in 1e-12")
}
