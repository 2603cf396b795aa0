package accountant

import (
	"errors"
	"fmt"
	"math"
)

// ErrParameter is wrapped by every error of this package.
var ErrParameter = errors.New("accountant: bad parameter")

// Method names a way to account.
type Method string

const (
	// RDP converts Rényi divergences. An upper bound.
	RDP Method = "rdp"
	// PLD composes discretised privacy losses. An upper bound, at most that of RDP.
	PLD Method = "pld"
	// Analytic is exact, and for sampling rate 1 only.
	Analytic Method = "analytic"
)

// The ranges that all methods accept. They are wider than what anybody trains with, and keep every intermediate finite.
const (
	minSamplingRate    = 1e-12
	minNoiseMultiplier = 1e-6
	maxNoiseMultiplier = 1e9
	minDelta           = 1e-100
	maxEpsilon         = 1e100
	maxRounds          = 1_000_000_000
)

// Mechanism is one round of the Poisson-sampled Gaussian mechanism.
type Mechanism struct {
	SamplingRate    float64 // q, the probability of each record to be in the batch; 1e-12 to 1
	NoiseMultiplier float64 // z, the noise's standard deviation on the sum in units of the clip norm; 1e-6 to 1e9
}

// Validate returns nil or an error wrapping ErrParameter.
func (m Mechanism) Validate() error {
	if q := m.SamplingRate; !(q >= minSamplingRate && q <= 1) {
		return fmt.Errorf("%w: sampling rate %v, want %v to 1", ErrParameter, q, minSamplingRate)
	}
	if z := m.NoiseMultiplier; !(z >= minNoiseMultiplier && z <= maxNoiseMultiplier) {
		return fmt.Errorf("%w: noise multiplier %v, want %v to %v", ErrParameter, z, minNoiseMultiplier, maxNoiseMultiplier)
	}
	return nil
}

// Step is a mechanism run for a number of rounds, 0 to 1e9 over all steps together.
type Step struct {
	Mechanism
	Rounds int
}

// merge validates steps and adds up the rounds of equal mechanisms. Steps of 0 rounds vanish.
func merge(steps []Step) ([]Step, error) {
	var merged []Step
	at := map[Mechanism]int{}
	total := 0
	for _, s := range steps {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		if s.Rounds < 0 || s.Rounds > maxRounds-total {
			return nil, fmt.Errorf("%w: %d rounds after %d others, want 0 or more and at most %d together", ErrParameter,
				s.Rounds, total, maxRounds)
		}
		total += s.Rounds
		if i, ok := at[s.Mechanism]; ok {
			merged[i].Rounds += s.Rounds
		} else if s.Rounds > 0 {
			at[s.Mechanism] = len(merged)
			merged = append(merged, s)
		}
	}
	return merged, nil
}

func checkDelta(delta float64) error {
	if !(delta >= minDelta && delta < 1) {
		return fmt.Errorf("%w: delta %v, want %v or more and below 1", ErrParameter, delta, minDelta)
	}
	return nil
}

func checkEpsilon(epsilon float64) error {
	if !(epsilon >= 0 && epsilon <= maxEpsilon) {
		return fmt.Errorf("%w: epsilon %v, want 0 to %v", ErrParameter, epsilon, maxEpsilon)
	}
	return nil
}

// checkTarget is checkEpsilon for an epsilon to be reached, which 0 is not by any noise.
func checkTarget(epsilon float64) error {
	if epsilon == 0 {
		return fmt.Errorf("%w: target epsilon 0, want it positive", ErrParameter)
	}
	return checkEpsilon(epsilon)
}

// asDelta turns the logarithm of a bound on delta into a delta, in (0, 1]. What underflows becomes
// the smallest number above 0: no Gaussian is (epsilon, 0)-private.
func asDelta(logDelta float64) float64 {
	return max(min(math.Exp(logDelta), 1), math.SmallestNonzeroFloat64)
}
