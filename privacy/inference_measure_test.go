package privacy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestProportion(t *testing.T) {
	// Clopper and Pearson for 5 of 10 at 95 %, and the closed forms at the ends.
	i := proportion(5, 10, 0.05)
	assert.InDelta(t, 0.1871, i.Low, 1e-4)
	assert.InDelta(t, 0.8129, i.High, 1e-4)
	assert.InDelta(t, 1-math.Pow(0.025, 0.1), proportion(0, 10, 0.05).High, 1e-12)
	assert.InDelta(t, math.Pow(0.025, 0.1), proportion(10, 10, 0.05).Low, 1e-12)
	assert.Zero(t, proportion(0, 10, 0.05).Low)
	assert.Equal(t, 1.0, proportion(10, 10, 0.05).High)
}

func TestSeparateAndMeasure(t *testing.T) {
	threshold := separate([]float64{3, 5, 6}, []float64{0, 1, 2})
	assert.Equal(t, 2.5, threshold)
	r := measure([]float64{2.4, 4, 4, 4}, []float64{0, 1, 4, 2}, threshold)
	assert.Equal(t, 0.75, r.TPR.Value)
	assert.Equal(t, 0.25, r.FPR.Value)
	assert.Equal(t, 0.5, r.Advantage.Value)
	assert.Equal(t, 4, r.Trials)
	assert.InDelta(t, (3+3*3.5)/16, r.AUC.Value, 1e-12)
	assert.Contains(t, r.String(), "advantage 0.500 [")
	// Scores that are all the same separate nothing.
	assert.Equal(t, 1.0, separate([]float64{1, 1}, []float64{1, 1}))
}

func TestLikelihood(t *testing.T) {
	for _, s := range []float64{-800, -3, 0, 0.4, 3} {
		assert.InDelta(t, math.Log(0.9+0.1*math.Exp(s-0.5)), likelihood(s, 1, 0.1), 1e-12)
		assert.InDelta(t, likelihood(s, 1, 0.1), likelihoodOf(1, s, 1, 0.1), 1e-12)
		assert.InDelta(t, math.Log(0.81+0.18*math.Exp(s-0.5)+0.01*math.Exp(2*s-2)), likelihoodOf(2, s, 1, 0.1), 1e-12)
	}
	assert.InDelta(t, 2000+math.Log(0.1), likelihood(2000.5, 1, 0.1), 1e-9)
	assert.InDelta(t, 7.5, likelihood(8, 1, 1), 1e-12)
}

func TestSolve(t *testing.T) {
	rows := []float32{1, 0, 0, 1, 1, 0, 0, 2, 1}
	c := []float32{1, -2, 0.5}
	u := solve(rows, c, 0.3, 0.7)
	for j := range c {
		got := 0.7 * float64(u[j])
		for at := 0; at < len(rows); at += 3 {
			got += 0.3 * dot(rows[at:at+3], u) * float64(rows[at+j])
		}
		assert.InDelta(t, c[j], got, 3e-3)
	}
	assert.Equal(t, []float32{0, 0, 0}, solve(rows, []float32{0, 0, 0}, 0.3, 0.7))
}
