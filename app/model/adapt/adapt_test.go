package adapt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/mnist"
)

// drawn returns n rows of inputs and the constant, as many as the parameters w, which their labels follow.
func drawn(seed uint64, n int, w []float64) mnist.Features {
	r := rand.New(rand.NewPCG(seed, 0))
	f := mnist.Features{Inputs: len(w)}
	for range n {
		var row []float32
		for range len(w) - 1 {
			row = append(row, float32(r.NormFloat64()))
		}
		row = append(row, 0.6)
		f.X = append(f.X, row...)
		label := uint8(0)
		if r.Float64() < 1/(1+math.Exp(-score(row, w))) {
			label = 1
		}
		f.Labels = append(f.Labels, label)
	}
	return f
}

func losses(ways []Way) map[string]float64 {
	out := map[string]float64{}
	for _, w := range ways {
		out[w.Name] = w.Loss
	}
	return out
}

// TestChoice: a member whose rows are the consortium's keeps the shared model, one with another rate takes
// an intercept of its own, one with other patients adapts, and one with nothing in common and many rows
// is better off alone.
func TestChoice(t *testing.T) {
	shared := []float64{1, -2, 0.5, 0}
	for _, c := range []struct {
		name string
		n    int
		own  []float64
	}{
		{Shared, 60, shared}, {Intercept, 200, []float64{1, -2, 0.5, -5}},
		{Adapted, 150, []float64{2, -1, 0.5, 0}}, {Alone, 2000, []float64{-0.05, 0.05, 0, 0}},
	} {
		chosen := map[string]int{}
		for seed := range uint64(5) {
			ways, err := Fit(drawn(seed, c.n, c.own), shared)
			require.NoError(t, err)
			require.Len(t, ways, 4)
			chosen[Best(ways).Name]++
		}
		for name, n := range chosen {
			require.LessOrEqual(t, n, chosen[c.name], "%s: %s is chosen, %v", c.name, name, chosen)
		}
	}
}

// TestFit: the fit is a stationary point of the sum that it minimises, by differences; an intercept alone
// moves nothing else, and makes the mean probability the rate.
func TestFit(t *testing.T) {
	rows := drawn(3, 300, []float64{1, 0, -1, 1})
	centre := []float64{0.2, 0.1, 0, -1}
	w := fit(rows, centre, nil, make([]float64, 4), 2)
	value := func(w []float64) float64 {
		sum := loss(rows, w)
		for j, draw := range []float64{2, 2, 2, 0.2} {
			sum += draw / 2 * (w[j] - centre[j]) * (w[j] - centre[j])
		}
		return sum
	}
	for j := range w {
		for _, h := range []float64{1e-3, -1e-3} {
			moved := append([]float64(nil), w...)
			moved[j] += h
			require.Greater(t, value(moved), value(w))
		}
	}
	w = scaled(rows, centre, held)
	require.Equal(t, centre[:3], w[:3])
	var excess float64
	for i := range rows.Len() {
		excess += 1/(1+math.Exp(-score(rows.Row(i), w))) - float64(rows.Labels[i])
	}
	require.InDelta(t, 0, excess, 0.05)
}

// TestMeanOfFits: the adapted model is none of the fits whose mean it is.
func TestMeanOfFits(t *testing.T) {
	rows, shared := drawn(5, 60, []float64{1, 0, -1, 1}), []float64{0.5, 0.2, -1, 0}
	ways, err := From(rows, shared)
	require.NoError(t, err)
	near := scaled(rows, shared, 1)
	_, curve := derivatives(rows, near)
	for _, w := range append(ladder(rows, shared, nil), ladder(rows, near, curve)...) {
		for j := range w {
			w[j] -= ways[2].Parameters[j]
		}
		require.Greater(t, floats.Norm(w, 2), 1e-3)
	}
}

// TestGroupsStayTogether: rows of a group tell on each other, so a fold has all of a group or none.
func TestGroupsStayTogether(t *testing.T) {
	rows := drawn(1, 40, []float64{0, 0, 0, 0})
	for i := range rows.Labels { // twenty pairs of equal rows with labels by chance
		copy(rows.Row(i), rows.Row(i/2*2))
		rows.Labels[i] = rows.Labels[i/2*2]
		rows.Groups = append(rows.Groups, uint32(i/2))
	}
	whole, err := Fit(rows, make([]float64, 4))
	require.NoError(t, err)
	rows.Groups = nil
	apart, err := Fit(rows, make([]float64, 4))
	require.NoError(t, err)
	require.Greater(t, losses(whole)[Alone], losses(apart)[Alone])
}

func TestRefusals(t *testing.T) {
	rows := drawn(1, 40, []float64{1, 0, 0, 0})
	_, err := Fit(rows, make([]float64, 3))
	require.ErrorContains(t, err, "rows of 4 inputs, the model has 3 parameters")
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err = Fit(rows, []float64{0, x, 0, 0})
		require.ErrorContains(t, err, fmt.Sprintf("parameter 1 of the model is %v, want a finite number", x))
	}
	few := mnist.Features{X: rows.X[:36], Labels: rows.Labels[:9], Inputs: 4}
	_, err = Fit(few, make([]float64, 4))
	require.ErrorContains(t, err, "9 groups or rows to train on, want at least 10")
	clear(rows.Labels)
	_, err = Fit(rows, make([]float64, 4))
	require.ErrorContains(t, err, "one label")
}

// BenchmarkFit: the member's own step of 4,000 rows of 100 columns.
func BenchmarkFit(b *testing.B) {
	model := make([]float64, 101)
	for j := range model {
		model[j] = 0.3 * float64(j%3-1)
	}
	rows := drawn(1, 4000, model)
	for b.Loop() {
		_, err := Fit(rows, model)
		require.NoError(b, err)
	}
}
