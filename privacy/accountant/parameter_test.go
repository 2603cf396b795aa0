package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every bad parameter is named with its value, in an error that wraps ErrParameter.
func TestBadParameters(t *testing.T) {
	good := steps(0.1, 1, 10)
	epsilon := func(method Method, delta float64, s ...Step) func() error {
		return func() error { _, err := Epsilon(method, delta, s...); return err }
	}
	delta := func(method Method, epsilon float64, s ...Step) func() error {
		return func() error { _, err := Delta(method, epsilon, s...); return err }
	}
	noise := func(method Method, q float64, rounds int, epsilon, delta float64) func() error {
		return func() error { _, err := NoiseMultiplier(method, q, rounds, epsilon, delta); return err }
	}
	for name, tt := range map[string]struct {
		call func() error
		says string
	}{
		"rate 0":           {epsilon(RDP, 1e-6, steps(0, 1, 1)), "sampling rate 0,"},
		"rate above 1":     {epsilon(RDP, 1e-6, steps(1.5, 1, 1)), "sampling rate 1.5"},
		"rate NaN":         {epsilon(RDP, 1e-6, steps(math.NaN(), 1, 1)), "sampling rate NaN"},
		"noise 0":          {epsilon(RDP, 1e-6, steps(0.1, 0, 1)), "noise multiplier 0,"},
		"noise infinite":   {epsilon(RDP, 1e-6, steps(0.1, math.Inf(1), 1)), "noise multiplier +Inf"},
		"rounds negative":  {epsilon(RDP, 1e-6, steps(0.1, 1, -3)), "-3 rounds"},
		"rounds too many":  {epsilon(RDP, 1e-6, good, steps(0.2, 1, maxRounds)), "1000000000 rounds after 10"},
		"rounds overflow":  {epsilon(RDP, 1e-6, good, steps(0.2, 1, math.MaxInt)), "rounds after 10"},
		"delta 0":          {epsilon(RDP, 0, good), "delta 0,"},
		"delta 1":          {epsilon(RDP, 1, good), "delta 1,"},
		"delta NaN":        {epsilon(RDP, math.NaN(), good), "delta NaN"},
		"method":           {epsilon("gdp", 1e-6, good), `method "gdp"`},
		"method for delta": {delta("lemma1", 1, good), `method "lemma1"`},
		"epsilon negative": {delta(RDP, -1, good), "epsilon -1"},
		"epsilon infinite": {delta(RDP, math.Inf(1), good), "epsilon +Inf"},
		"steps of delta":   {delta(RDP, 1, steps(0.1, -1, 1)), "noise multiplier -1"},
		"analytic sampled": {epsilon(Analytic, 1e-6, good), `sampling rate 0.1, want 1 for method "analytic"`},
		"analytic delta":   {delta(Analytic, 1, good), `sampling rate 0.1, want 1`},
		"target 0":         {noise(RDP, 0.1, 10, 0, 1e-6), "target epsilon 0"},
		"target NaN":       {noise(RDP, 0.1, 10, math.NaN(), 1e-6), "epsilon NaN"},
		"no rounds":        {noise(RDP, 0.1, 0, 1, 1e-6), "0 rounds"},
		"too many rounds":  {noise(RDP, 0.1, maxRounds+1, 1, 1e-6), "1000000001 rounds"},
		"noise rate":       {noise(PLD, 0, 10, 1, 1e-6), "sampling rate 0,"},
		"noise delta":      {noise(PLD, 0.1, 10, 1, 2), "delta 2"},
		"noise analytic":   {noise(Analytic, 0.1, 10, 1, 1e-6), "sampling rate 0.1"},
		"noise method":     {noise("", 0.1, 10, 1, 1e-6), `method ""`},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.call()
			require.ErrorIs(t, err, ErrParameter)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// What has not happened costs nothing.
func TestNothingIsFree(t *testing.T) {
	for _, method := range []Method{RDP, PLD, Analytic} {
		for _, s := range [][]Step{nil, {steps(1, 1, 0)}} {
			assert.Zero(t, epsilonOf(t, method, 1e-6, s...))
			assert.Zero(t, deltaOf(t, method, 0, s...))
		}
	}
}
