package accountant

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spdl/spdl/internal/stage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func finite(t *testing.T, name string, value float64, err error) {
	t.Helper()
	require.NoError(t, err, name)
	require.False(t, math.IsNaN(value) || math.IsInf(value, 0) || value < 0, "%s is %v", name, value)
}

var corners = struct{ epsilon, delta, q, z []float64 }{
	epsilon: []float64{1e-3, 1e3},
	delta:   []float64{1e-12, 1e-2},
	q:       []float64{1e-5, 0.03, 1},
	z:       []float64{0.3, 500},
}

// All corners of the range that the package promises: finite answers without errors, for RDP and
// the exact Gaussian.
func TestCorners(t *testing.T) {
	for _, q := range corners.q {
		for _, z := range corners.z {
			for _, rounds := range []int{1, 1e6} {
				s := steps(q, z, rounds)
				for _, method := range []Method{RDP, Analytic} {
					if method == Analytic && q < 1 {
						continue
					}
					for _, delta := range corners.delta {
						epsilon, err := Epsilon(method, delta, s)
						finite(t, fmt.Sprintf("%s epsilon of %+v", method, s), epsilon, err)
					}
					for _, epsilon := range append(corners.epsilon, 0, 1e100) {
						delta, err := Delta(method, epsilon, s)
						finite(t, fmt.Sprintf("%s delta of %+v", method, s), delta, err)
						assert.True(t, delta > 0 && delta <= 1, "%s delta of %+v is %v", method, s, delta)
					}
				}
			}
		}
	}
}

func TestCornersOfNoise(t *testing.T) {
	for _, q := range corners.q {
		for _, rounds := range []int{1, 1e6} {
			for _, epsilon := range corners.epsilon {
				for _, delta := range corners.delta {
					for _, method := range []Method{RDP, Analytic} {
						if method == Analytic && q < 1 {
							continue
						}
						z, err := NoiseMultiplier(method, q, rounds, epsilon, delta)
						finite(t, fmt.Sprintf("%s noise for q=%v T=%d epsilon=%v delta=%v", method, q, rounds, epsilon, delta), z, err)
						assert.LessOrEqual(t, epsilonOf(t, method, delta, steps(q, z, rounds)), epsilon)
					}
				}
			}
		}
	}
}

func TestCornersOfPLD(t *testing.T) {
	stage.NotShort(t, "composes at every corner")
	cases := []Step{steps(1e-5, 500, 1e6), steps(1, 0.3, 1e6), steps(1e-12, 1e9, 7), steps(0.999, 0.01, 1000),
		steps(0.01, 1, 500)}
	for _, q := range stage.Pick(nil, nil, corners.q) {
		for _, z := range corners.z {
			for _, rounds := range []int{1, 500} {
				cases = append(cases, steps(q, z, rounds))
			}
		}
	}
	if !stage.Long() {
		cases = cases[2:] // without a million rounds
	}
	for _, s := range cases {
		start := time.Now()
		for _, delta := range []float64{1e-12, 1e-2} {
			epsilon, err := Epsilon(PLD, delta, s)
			finite(t, fmt.Sprintf("epsilon of %+v", s), epsilon, err)
		}
		delta, err := Delta(PLD, 1, s)
		finite(t, fmt.Sprintf("delta of %+v", s), delta, err)
		assert.Less(t, time.Since(start), 30*time.Second, "%+v", s)
	}
	for _, epsilon := range []float64{0, 1e-9, 1e9, 1e100} {
		delta, err := Delta(PLD, epsilon, steps(0.1, 1, 100))
		finite(t, "delta", delta, err)
		assert.Greater(t, delta, 0.0)
	}
}

// The ends of what is accepted at all.
func TestEndsOfTheRange(t *testing.T) {
	for _, q := range stage.Pick([]float64{minSamplingRate, 1}, []float64{minSamplingRate, 1 - 0x1p-53, 1},
		[]float64{minSamplingRate, 0.5, 1 - 0x1p-53, 1}) {
		for _, z := range []float64{minNoiseMultiplier, 0.02, maxNoiseMultiplier} {
			for _, rounds := range []int{1, maxRounds} {
				for _, delta := range []float64{minDelta, 0.999999} {
					epsilon, err := Epsilon(RDP, delta, steps(q, z, rounds))
					finite(t, fmt.Sprintf("epsilon of q=%v z=%v T=%d delta=%v", q, z, rounds, delta), epsilon, err)
				}
				delta, err := Delta(RDP, maxEpsilon, steps(q, z, rounds))
				finite(t, fmt.Sprintf("delta of q=%v z=%v T=%d", q, z, rounds), delta, err)
			}
		}
	}
	_, err := NoiseMultiplier(RDP, 1, maxRounds, 1e-7, 1e-12)
	assert.ErrorIs(t, err, ErrParameter)
	assert.ErrorContains(t, err, "out of reach")
	_, err = NoiseMultiplier(PLD, 1, maxRounds, 1e-7, 1e-12)
	assert.ErrorContains(t, err, "out of reach")
	// A record that is hardly ever drawn needs no noise to speak of: by PLD, the least there is.
	assert.Equal(t, pldMinNoise, noiseOf(t, PLD, 1e-6, 1, 10, 1e-2))
	// By the exact formula a thousand million rounds with an epsilon of 1e40 need none either.
	assert.Equal(t, minNoiseMultiplier, noiseOf(t, Analytic, 1, maxRounds, 1e40, 0.5))
}

// No panic, no NaN, no infinity, and an error if and only if a parameter is out of its range.
func FuzzEpsilon(f *testing.F) {
	f.Add(0.1, 2.67, 100, 1e-6, 1.0)
	f.Add(1.0, 0.3, 1000000, 1e-12, 1e-3)
	f.Add(1e-5, 500.0, 1, 1e-2, 1e3)
	f.Add(math.NaN(), math.Inf(1), -1, 0.0, -1.0)
	f.Add(1e-12, 1e9, 1000000000, 1e-100, 1e100)
	f.Add(1-0x1p-53, 1e-6, 3, 0.9, 0.0)
	f.Fuzz(func(t *testing.T, q, z float64, rounds int, delta, epsilon float64) {
		s := steps(q, z, rounds)
		valid := q >= minSamplingRate && q <= 1 && z >= minNoiseMultiplier && z <= maxNoiseMultiplier && rounds >= 0 &&
			rounds <= maxRounds
		for _, method := range []Method{RDP, Analytic, PLD} {
			accepted := valid && (method != Analytic || q == 1 || rounds == 0) && (method != PLD || z >= pldMinNoise ||
				rounds == 0)
			if method == PLD && accepted && (rounds > 1000 || q < 1e-3) {
				continue // for time
			}
			got, err := Epsilon(method, delta, s)
			if want := accepted && delta >= minDelta && delta < 1; want != (err == nil) {
				t.Fatalf("%s epsilon of %+v at %v: error %v", method, s, delta, err)
			}
			if err == nil && !(got >= 0 && got <= math.MaxFloat64) {
				t.Fatalf("%s epsilon of %+v at %v is %v", method, s, delta, got)
			}
			got, err = Delta(method, epsilon, s)
			if want := accepted && epsilon >= 0 && epsilon <= maxEpsilon; want != (err == nil) {
				t.Fatalf("%s delta of %+v at %v: error %v", method, s, epsilon, err)
			}
			if err == nil && !(got >= 0 && got <= 1) {
				t.Fatalf("%s delta of %+v at %v is %v", method, s, epsilon, got)
			}
		}
	})
}
