package privacy_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// kernels are gonum's float32 loops.
var kernels gonum.Implementation

// Attack is an observer of a setting. It is not safe for concurrent use.
type Attack struct {
	setting Setting
	model   *model.Model
	tests   []test // one a round
}

// test is a round's: what it takes to turn a residual into a likelihood ratio.
type test struct {
	direction []float32 // W c
	expected  float64   // what the other examples add to the projection on it
	power     float64   // k = <W c, c>
}

// New prepares an attack: for every round it computes each of the victim's gradients and solves for
// the direction.
func New(s Setting) (*Attack, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	m, err := model.New(s.Model)
	if err != nil {
		return nil, err
	}
	a := &Attack{setting: s, model: m, tests: make([]test, len(s.Models))}
	if _, err := newVictimOf(s, m, true, privacy.NewTestSource(0)); err != nil {
		return nil, err
	}
	rows := make([]float32, (s.Data.Len()+1)*m.Dim())
	for t, x := range s.Models {
		if len(x) != m.Dim() {
			return nil, fmt.Errorf("%w: %d parameters in round %d, want %d", ErrSetting, len(x), t, m.Dim())
		}
		a.tests[t] = a.prepare(x, rows)
	}
	return a, nil
}

// prepare makes the test of a round that begins at x; rows is scratch.
func (a *Attack) prepare(x []float64, rows []float32) test {
	d, n := a.model.Dim(), a.setting.Data.Len()
	g := make([]float64, d)
	for i := range n + 1 {
		a.unit(g, x, i)
		row := rows[i*d : (i+1)*d]
		for j, v := range g {
			row[j] = float32(v)
		}
	}
	canary := rows[n*d:]
	q := a.setting.Rate
	u := solve(rows[:n*d], canary, q*(1-q), a.noise())
	t := test{direction: u, power: dot(u, canary)}
	for i := range n {
		t.expected += q * dot(u, rows[i*d:(i+1)*d])
	}
	return t
}

// unit sets g to what the i-th of the other examples adds to a sum if it is drawn, and the canary
// behind them: one of its rows, or with groups all of them, clipped once.
func (a *Attack) unit(g, x []float64, i int) {
	s := a.setting
	if i < s.Data.Len() {
		a.model.ClippedSum(g, x, s.Data.Row(i), s.Data.Labels[i:i+1], s.Mechanism.Clip)
		return
	}
	a.model.ClippedSum(g, x, s.Canary.X, s.Canary.Labels, s.Mechanism.Clip)
	if s.Unit == params.UnitGroup {
		a.model.ClippedSum(g, x, s.Canary.X, s.Canary.Labels, 0)
		for j := range g {
			g[j] *= float64(s.copies())
		}
		privacy.Project(g, s.Mechanism.Clip)
	}
}

// noise returns the variance of each coordinate of a residual that does not come from sampling: the
// mechanism's, and that of two roundings to the grid, as far as rounding is like uniform noise.
func (a *Attack) noise() float64 {
	c := a.setting.Mechanism
	rounding := a.scale() * a.setting.Grid.Step
	std := c.NoiseMultiplier * c.Clip
	return std*std + (1+c.Momentum*c.Momentum)*rounding*rounding/12
}

// scale turns a difference of momenta into a sum of gradients.
func (a *Attack) scale() float64 {
	return a.setting.Mechanism.ExpectedBatch / (1 - a.setting.Mechanism.Momentum)
}

// solve returns u with (variance·RᵀR + noise·I) u = c for the rows R, by conjugate gradients: to
// 1e-3, or as far as maxSteps goes. Any direction makes a valid attack.
func solve(rows, c []float32, variance, noise float64) []float32 {
	const maxSteps, precision = 60, 1e-3
	d := len(c)
	u, r, p, ap := make([]float32, d), append([]float32(nil), c...), append([]float32(nil), c...), make([]float32, d)
	square := dot(r, r)
	target := square * precision * precision
	for i := 0; i < maxSteps && square > target; i++ {
		for j := range ap {
			ap[j] = float32(noise) * p[j]
		}
		for at := 0; at < len(rows); at += d {
			row := rows[at : at+d]
			kernels.Saxpy(d, float32(variance)*kernels.Sdot(d, row, 1, p, 1), row, 1, ap, 1)
		}
		step := square / dot(p, ap)
		kernels.Saxpy(d, float32(step), p, 1, u, 1)
		kernels.Saxpy(d, float32(-step), ap, 1, r, 1)
		next := dot(r, r)
		for j := range p {
			p[j] = r[j] + float32(next/square)*p[j]
		}
		square = next
	}
	return u
}

func dot(a, b []float32) float64 { return kernels.Dsdot(len(a), a, 1, b, 1) }

// Score returns the log-likelihood ratio of the canary's membership, given the vectors of all
// rounds.
func (a *Attack) Score(released []gradients.Vector) float64 {
	step, beta := a.setting.Grid.Step, a.setting.Mechanism.Momentum
	before := make([]float64, a.model.Dim())
	score := 0.0
	for t, v := range released {
		test, s := a.tests[t], 0.0
		for j, u := range test.direction {
			m := step * float64(v.At(j))
			s += float64(u) * (m - beta*before[j])
			before[j] = m
		}
		s = a.scale()*s - test.expected
		if a.setting.Unit == params.UnitGroup {
			score += likelihood(s, test.power, a.setting.Rate)
		} else {
			score += likelihoodOf(a.setting.copies(), s, test.power, a.setting.Rate)
		}
	}
	return score
}

// likelihoodOf returns the log-likelihood ratio of k rows that are drawn one by one: the logarithm of
// the sum of binomial(j, k, q) exp(js - j²power/2) over j.
func likelihoodOf(k int, s, power, q float64) float64 {
	terms := make([]float64, k+1)
	for j := range terms {
		n := float64(j)
		terms[j] = math.Log(binomial(j, k, q)) + n*s - n*n*power/2
	}
	return floats.LogSumExp(terms)
}

// likelihood returns log(1 - q + q exp(s - k/2)), without overflow.
func likelihood(s, k, q float64) float64 {
	e := s - k/2
	if e > 0 {
		return e + math.Log(q+(1-q)*math.Exp(-e))
	}
	return math.Log1p(q * math.Expm1(e))
}

// Play runs the victim through all rounds, with the canary among its examples or without, and
// returns what it releases.
func (a *Attack) Play(member bool, source *privacy.Source) []gradients.Vector {
	// New has tried these very arguments.
	v, _ := newVictimOf(a.setting, a.model, member, source)
	released := make([]gradients.Vector, len(a.setting.Models))
	for t, x := range a.setting.Models {
		released[t] = v.release(x)
	}
	return released
}

// Run plays trials games with the canary and as many without, scores them, and measures how well a
// threshold tells them apart. Half as many games before set the threshold.
func (a *Attack) Run(trials int, seed uint64) Result {
	games := uint64(0)
	play := func(n int) (in, out []float64) {
		for range n {
			in = append(in, a.Score(a.Play(true, privacy.NewTestSource(seed+games))))
			out = append(out, a.Score(a.Play(false, privacy.NewTestSource(seed+games+1))))
			games += 2
		}
		return in, out
	}
	threshold := separate(play(max(1, trials/2)))
	in, out := play(trials)
	return measure(in, out, threshold)
}
