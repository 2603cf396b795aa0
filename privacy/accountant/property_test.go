package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// logUniform draws from [low, high], evenly in the logarithm.
func logUniform(low, high float64) *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		return min(max(math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, "log")), low), high)
	})
}

func drawStep(t *rapid.T, label string) Step {
	q := logUniform(1e-5, 1).Draw(t, label+"q")
	if rapid.IntRange(0, 9).Draw(t, label+"all") == 0 {
		q = 1
	}
	return steps(q, logUniform(0.3, 500).Draw(t, label+"z"), rapid.IntRange(1, 1e6).Draw(t, label+"T"))
}

// tolerance allows for rounding.
const tolerance = 1e-9

// More rounds, more sampling, less noise or a smaller delta never cost less.
func TestRDPIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, delta := drawStep(t, ""), logUniform(1e-12, 1e-2).Draw(t, "delta")
		base := epsilonRDP(t, delta, s)
		factor := logUniform(1, 3).Draw(t, "factor")
		for name, worse := range map[string]Step{
			"rounds": steps(s.SamplingRate, s.NoiseMultiplier, s.Rounds+rapid.IntRange(1, 1000).Draw(t, "more")),
			"rate":   steps(min(s.SamplingRate*factor, 1), s.NoiseMultiplier, s.Rounds),
			"noise":  steps(s.SamplingRate, s.NoiseMultiplier/factor, s.Rounds),
		} {
			spent, alpha := rdpEpsilon([]Step{worse}, delta)
			require.GreaterOrEqual(t, spent, base*(1-tolerance)-roundings(s, alpha), name)
		}
		require.GreaterOrEqual(t, epsilonRDP(t, delta/factor, s), base*(1-tolerance), "delta")
	})
}

// roundings is how far the epsilon of steps at an order may be above the true one:
// logMomentFractional adds what its roundings may have taken away, and they may have added as much.
// Where a round tells next to nothing that is more than the tolerance.
func roundings(s Step, alpha float64) float64 {
	if s.SamplingRate == 1 { // a closed form
		return 0
	}
	moment := logMoment(s.Mechanism, alpha)
	return 2 * float64(s.Rounds) * fractionalRounding * (alpha + 10) * max(1, moment) / (alpha - 1)
}

func epsilonRDP(t *rapid.T, delta float64, s ...Step) float64 {
	epsilon, err := Epsilon(RDP, delta, s...)
	require.NoError(t, err)
	return epsilon
}

// Divergences of one order add up, whichever way the rounds are grouped.
func TestCompositionIsAdditive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawStep(t, "a"), drawStep(t, "b")
		alpha := orders[rapid.IntRange(0, 11000).Draw(t, "order")]
		sum := moments([]Step{a}, alpha) + moments([]Step{b}, alpha)
		require.InEpsilon(t, sum, moments([]Step{a, b}, alpha), tolerance)

		delta := logUniform(1e-12, 1e-2).Draw(t, "delta")
		cut := rapid.IntRange(0, a.Rounds).Draw(t, "cut")
		first, second := a, a
		first.Rounds, second.Rounds = cut, a.Rounds-cut
		require.Equal(t, epsilonRDP(t, delta, a, b), epsilonRDP(t, delta, first, b, second))

		// At most as bad as basic composition, and at least as bad as either part.
		both := epsilonRDP(t, delta, a, b)
		require.LessOrEqual(t, both, (epsilonRDP(t, delta/2, a)+epsilonRDP(t, delta/2, b))*(1+tolerance))
		require.GreaterOrEqual(t, both, max(epsilonRDP(t, delta, a), epsilonRDP(t, delta, b))*(1-tolerance))
	})
}

// Epsilon and Delta are two readings of one curve.
func TestDeltaInvertsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, delta := drawStep(t, ""), logUniform(1e-12, 1e-2).Draw(t, "delta")
		method := RDP
		if s.SamplingRate == 1 && rapid.Bool().Draw(t, "analytic") {
			method = Analytic
		}
		epsilon, err := Epsilon(method, delta, s)
		require.NoError(t, err)
		back, err := Delta(method, epsilon, s)
		require.NoError(t, err)
		require.LessOrEqual(t, back, delta*(1+1e-6)) // epsilon in the thousands, times an order, in float64
		if epsilon > 0 {
			require.GreaterOrEqual(t, back, delta*(1-1e-4)) // another order may do a little better
		}
	})
}

// NoiseMultiplier meets the target, and a little less noise would not.
func TestNoiseMultiplierInvertsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, rounds := logUniform(1e-5, 1).Draw(t, "q"), rapid.IntRange(1, 1e6).Draw(t, "T")
		epsilon, delta := logUniform(1e-2, 1e3).Draw(t, "epsilon"), logUniform(1e-12, 1e-2).Draw(t, "delta")
		z, err := NoiseMultiplier(RDP, q, rounds, epsilon, delta)
		require.NoError(t, err)
		require.LessOrEqual(t, epsilonRDP(t, delta, steps(q, z, rounds)), epsilon)
		if z > minNoiseMultiplier {
			require.Greater(t, epsilonRDP(t, delta, steps(q, z*(1-2*noisePrecision), rounds)), epsilon)
		}
	})
}

// PLD lies between the exact delta of the strongest single round and RDP, and grows with rounds.
// Its grid follows the parameters, which makes it monotone only up to the grid's error.
func TestPLDLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := steps(logUniform(1e-2, 1).Draw(t, "q"), logUniform(0.3, 500).Draw(t, "z"), rapid.IntRange(1, 100).Draw(t, "T"))
		delta := logUniform(1e-9, 1e-2).Draw(t, "delta")
		pld, err := Epsilon(PLD, delta, s)
		require.NoError(t, err)
		require.LessOrEqual(t, pld, epsilonRDP(t, delta, s))
		if pld > 0 && s.SamplingRate < 1 {
			require.LessOrEqual(t, onceDelta(s.Mechanism, pld), delta*(1+tolerance))
		}
		s.Rounds += s.Rounds/10 + 1
		more, err := Epsilon(PLD, delta, s)
		require.NoError(t, err)
		require.GreaterOrEqual(t, more, pld*(1-3*epsilonError)-1e-9)
	})
}
