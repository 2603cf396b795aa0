package privacy_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/privacy/accountant"
)

// lossPoints is the number of points in the grid of privacy losses, which lies around 0.
const lossPoints = 1 << 15

// losses returns the Fourier transform of one round's privacy loss: the distribution of log(P(x)/Q(x)) under P, which
// is (1-q) N(0,z²) + q N(1,z²), beside Q = N(0,z²) or, with removed, the reverse. Each of many slices of the noise
// goes to the two grid points around its loss, in parts that keep its mean.
func losses(fft *fourier.FFT, step, q, z float64, removed bool) []complex128 {
	const slices, width = 4000, 12.
	mass := make([]float64, lossPoints)
	density := func(x float64) float64 { return math.Exp(-x*x/(2*z*z)) / (z * math.Sqrt(2*math.Pi)) }
	h := (1 + 2*width*z) / slices
	for i := range slices {
		x := -width*z + (float64(i)+0.5)*h
		loss, p := math.Log(1-q+q*math.Exp((x-0.5)/(z*z))), (1-q)*density(x)+q*density(x-1)
		if removed {
			loss, p = -loss, density(x)
		}
		at := min(loss/step, lossPoints/2-2)
		low := math.Floor(at)
		to := func(k float64, part float64) { mass[(int(k)+lossPoints)%lossPoints] += p * h * part }
		to(low, 1-(at-low))
		to(low+1, at-low)
	}
	return fft.Coefficients(nil, mass)
}

// deltaByConvolution returns the delta of all rounds at an epsilon, by composing the losses of single rounds, which
// shares no code with the accountant.
func deltaByConvolution(steps []accountant.Step, epsilon float64) (delta float64) {
	// Losses beyond four times the epsilon hardly occur; with a sampled round they do in its tail.
	fft, step := fourier.NewFFT(lossPoints), (4*epsilon+24*(1-steps[0].SamplingRate))*2/lossPoints
	for _, removed := range []bool{false, true} {
		all := make([]complex128, lossPoints/2+1)
		for i := range all {
			all[i] = 1
		}
		for _, s := range steps {
			for i, c := range losses(fft, step, s.SamplingRate, s.NoiseMultiplier, removed) {
				all[i] *= cmplx.Pow(c, complex(float64(s.Rounds), 0))
			}
		}
		sum := 0.0
		for i, mass := range fft.Sequence(nil, all) {
			if loss := float64(i) * step; i < lossPoints/2 && loss > epsilon {
				sum += mass / lossPoints * -math.Expm1(epsilon-loss)
			}
		}
		delta = max(delta, sum)
	}
	return delta
}

// randomChain returns parameters of a random chain, and all its rounds: of the default preset for a table, with the
// unit of an example or of a group and the noise that the preset chose, or with batches that are sampled. In every
// fourth, a second epoch with other noise follows.
func randomChain(t *testing.T, rng *rand.Rand, i int) (p params.Params, steps []accountant.Step) {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	columns := []params.Column{{Name: "x", Low: 0, High: 1}, {Name: "y", Low: 0, High: 1}}
	table := &params.Table{Label: "label", Classes: []string{"a", "b"}, Columns: columns}
	if i%2 == 1 {
		table.Group = "patient"
	}
	n, epsilon := 1+rng.IntN(20), between(0.1, 8)
	p, err := preset.Make("default", n, preset.Own{Epsilon: epsilon, Examples: int(between(20, 5000)),
		Data: &preset.Data{Classes: 2, Table: table}})
	require.NoError(t, err)
	require.Equal(t, i%2 == 1, p.Privacy.Unit == params.UnitGroup)
	v := &p.Privacy
	if i%3 == 2 {
		v.SamplingRate, v.NoiseMultiplier, v.WorkerMomentum = between(0.01, 0.5), between(0.7, 4), 0
		p.Training.Rounds, v.Epsilon = uint64(between(1, 300)), 0
		require.NoError(t, preset.Account(&p))
	}
	steps = []accountant.Step{{Mechanism: accountant.Mechanism{SamplingRate: v.SamplingRate,
		NoiseMultiplier: v.NoiseMultiplier}, Rounds: int(p.Training.Rounds)}}
	if i%4 == 3 {
		steps = append(steps, accountant.Step{Mechanism: accountant.Mechanism{SamplingRate: v.SamplingRate,
			NoiseMultiplier: v.NoiseMultiplier * between(1, 3)}, Rounds: 1 + rng.IntN(100)})
	}
	return p, steps
}

// TestLedgerByConvolution: in 200 random chains the delta at the epsilon that the ledger states is at most the
// promised one, by a composition of its own. Where all rows are in every round it is the promised one within a
// hundredth. A preset takes no more noise than its epsilon needs, and a tenth less noise breaks it.
func TestLedgerByConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 8))
	sampled := 0
	for i := range 200 {
		p, steps := randomChain(t, rng, i)
		spent := make([]uint64, params.LedgerColumns)
		for _, s := range steps {
			costs, err := accountant.ChainCosts(s.Mechanism)
			require.NoError(t, err)
			for k, c := range costs {
				spent[k] = min(spent[k]+c*uint64(s.Rounds), accountant.ChainMost+1)
			}
		}
		epsilon, err := accountant.ChainEpsilon(spent, delta)
		require.NoError(t, err)
		own := deltaByConvolution(steps, epsilon)
		require.LessOrEqual(t, own, delta*1.01, "chain %d: %+v, epsilon %v", i, steps, epsilon)
		if p.Privacy.SamplingRate < 1 {
			sampled++
			continue
		}
		require.Greater(t, own, delta*0.99, "chain %d: %+v, epsilon %v", i, steps, epsilon)
		if len(steps) == 1 {
			assert.LessOrEqual(t, epsilon, p.Privacy.Epsilon)
			steps[0].NoiseMultiplier *= 0.9
			assert.Greater(t, deltaByConvolution(steps, p.Privacy.Epsilon), 1.5*delta, "chain %d: %+v", i, steps)
		}
	}
	require.Greater(t, sampled, 50)
}
