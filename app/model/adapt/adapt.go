// Package adapt fits a chain's logistic model to one member's own rows. The member takes this last step at home:
// nothing of it is sent, so it costs no epsilon. What comes out is not private towards its readers.
package adapt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/mnist"
)

// The ways to a model, in the order in which they are tried. Of two that are equally good the first is chosen.
const (
	Shared    = "shared"    // the chain's model
	Intercept = "intercept" // the chain's model with an intercept of the member's own
	Adapted   = "adapted"   // the mean of fits of all parameters, drawn to the chain's model
	Alone     = "alone"     // all parameters fitted, drawn to 0: the model that the member makes without the chain
	Mine      = "mine"      // a model that the member already has: no fit leads to it
)

const (
	folds      = 5
	leastUnits = 2 * folds // the min number of groups or rows: two in each fold
	free       = 0.1       // how strongly the intercept is drawn, as a part of how strongly the other parameters are
)

// lambdas are the strengths with which fitted parameters are drawn. A lambda adds lambda/2 times the
// squared distance to the sum of the rows' losses.
var lambdas = []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}

// Way is a way to a model, with the parameters to which it leads from all rows.
type Way struct {
	Name       string    `json:"name"`
	Lambda     float64   `json:"lambda,omitempty"` // of the heaviest fit, 0 where nothing is drawn
	Loss       float64   `json:"loss,omitempty"`   // mean log loss in nats of rows that the fit left out, by five folds
	Parameters []float64 `json:"-"`
}

// Fit returns the four ways from the chain's model, shared, to a model for the rows, in the order of
// the constants above. The last input of a row is the constant, so the last parameter is the intercept.
// Rows of a group are in one fold. Fit fails if there are fewer than ten groups (or rows without
// groups), if all rows have one label, or if a shape does not fit.
func Fit(rows mnist.Features, shared []float64) ([]Way, error) {
	alone, err := Ridge(rows)
	if err != nil {
		return nil, err
	}
	ways, err := From(rows, shared)
	return append(ways, alone), err
}

// From returns the three ways of Fit that begin with the chain's model, for rows of which Fit has a model. Half of the
// fits of Adapted are drawn to the chain's model. The others are drawn to it with a slope and an intercept of the rows'
// own, also in the curve of the rows' losses: it counts there as a model of as many rows.
func From(rows mnist.Features, shared []float64) ([]Way, error) {
	if rows.Inputs != len(shared) {
		return nil, fmt.Errorf("rows of %d inputs, the model has %d parameters", rows.Inputs, len(shared))
	}
	for i, x := range shared {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("parameter %d of the model is %v, want a finite number", i, x)
		}
	}
	return []Way{best(rows, Shared, onlyBest, func(mnist.Features) [][]float64 { return [][]float64{shared} }),
		best(rows, Intercept, onlyBest, func(rows mnist.Features) [][]float64 {
			return [][]float64{scaled(rows, shared, held)}
		}),
		best(rows, Adapted, 1, func(rows mnist.Features) [][]float64 {
			near := scaled(rows, shared, 1)
			_, curve := derivatives(rows, near)
			return slices.Concat(ladder(rows, shared, nil), ladder(rows, near, curve))
		})}, nil
}

// Ridge returns the way Alone, with the errors of Fit.
func Ridge(rows mnist.Features) (w Way, err error) {
	switch units := len(unitsOf(rows)); {
	case units < leastUnits:
		return w, fmt.Errorf("%d groups or rows to train on, want at least %d", units, leastUnits)
	case !slices.Contains(rows.Labels, 0) || !slices.Contains(rows.Labels, 1):
		return w, errors.New("all rows to train on have one label")
	}
	return best(rows, Alone, onlyBest, func(rows mnist.Features) [][]float64 {
		return ladder(rows, make([]float64, rows.Inputs), nil)
	}), nil
}

// ladder returns the fits of all lambdas. Each begins where that of the next larger lambda ends, which is near.
func ladder(rows mnist.Features, centre []float64, metric mat.Symmetric) [][]float64 {
	fits, w := make([][]float64, len(lambdas)), centre
	for i, lambda := range slices.Backward(lambdas) {
		w = fit(rows, centre, metric, w, lambda)
		fits[i] = w
	}
	return fits
}

// onlyBest is an exponent that gives the best fit the whole weight, but for near ties.
const onlyBest = 1e9

// best returns the way of the mean of some fits. The weight of a fit is how likely the rows that the folds left out are
// by it, with an exponent.
func best(rows mnist.Features, name string, exponent float64, fits func(mnist.Features) [][]float64) Way {
	whole, units := fits(rows), unitsOf(rows)
	weights, left, fitted := make([]float64, len(whole)), make([]mnist.Features, folds), make([][][]float64, folds)
	for k := range folds {
		var train, test []int
		for i, unit := range units {
			if i%folds == k {
				test = append(test, unit...)
			} else {
				train = append(train, unit...)
			}
		}
		left[k], fitted[k] = rows.Subset(test), fits(rows.Subset(train))
		for i, w := range fitted[k] {
			weights[i] -= loss(left[k], w)
		}
	}
	likeliest := floats.MaxIdx(weights)
	floats.AddConst(-weights[likeliest], weights)
	for i, x := range weights {
		weights[i] = math.Exp(exponent * x)
	}
	floats.Scale(1/floats.Sum(weights), weights)
	w := Way{Name: name, Parameters: mean(whole, weights)}
	if len(whole) > 1 {
		w.Lambda = lambdas[likeliest%len(lambdas)]
	}
	for k := range folds {
		w.Loss += loss(left[k], mean(fitted[k], weights)) / float64(rows.Len())
	}
	return w
}

// mean returns the weighed mean of fits.
func mean(fits [][]float64, weights []float64) []float64 {
	out := make([]float64, len(fits[0]))
	for i, w := range fits {
		floats.AddScaled(out, weights[i], w)
	}
	return out
}

// Best returns the way with the least loss.
func Best(ways []Way) Way {
	return slices.MinFunc(ways, func(a, b Way) int { return cmp.Compare(a.Loss, b.Loss) })
}

// unitsOf returns the rows of each group in an order that looks random and is the same in every run.
func unitsOf(rows mnist.Features) [][]int {
	units := mnist.Units(rows.Groups, rows.Len())
	rand.New(rand.NewPCG(0, 0)).Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	return units
}

// score returns the log odds of the second class.
func score(row []float32, w []float64) (s float64) {
	for j, x := range row {
		s += float64(x) * w[j]
	}
	return s
}

// loss returns the sum of the rows' log losses, in nats.
func loss(rows mnist.Features, w []float64) (sum float64) {
	for i := range rows.Len() {
		s := score(rows.Row(i), w)
		if rows.Labels[i] == 1 {
			s = -s
		}
		sum += max(s, 0) + math.Log1p(math.Exp(-math.Abs(s)))
	}
	return sum
}

// held draws a slope so strongly that it stays 1.
const held = 1e9

// scaled returns the model with the slope and the intercept of its log odds that fit the rows, the slope drawn to 1.
func scaled(rows mnist.Features, w []float64, strength float64) []float64 {
	odds, last := mnist.Features{Labels: rows.Labels, Inputs: 2}, len(w)-1
	for i := range rows.Len() {
		odds.X = append(odds.X, float32(score(rows.Row(i), w)), rows.Row(i)[last])
	}
	line := fit(odds, []float64{1, 0}, mat.NewDiagDense(2, []float64{strength, 0}), []float64{1, 0}, lambdas[0])
	if strength == held {
		line[0] = 1
	}
	out := floats.ScaleTo(make([]float64, len(w)), line[0], w)
	out[last] += line[1]
	return out
}

// fit minimises, by Newton's method with halved steps from start, the sum of the losses, of lambda/2 times the squared
// distance from centre, and of half of that in a metric, if there is one.
func fit(rows mnist.Features, centre []float64, metric mat.Symmetric, start []float64, lambda float64) []float64 {
	d := len(start)
	draw := mat.NewSymDense(d, nil)
	for j := range d {
		draw.SetSym(j, j, lambda)
	}
	if draw.SetSym(d-1, d-1, free*lambda); metric != nil {
		draw.AddSym(draw, metric)
	}
	off := func(w []float64) mat.Vector {
		return mat.NewVecDense(d, floats.SubTo(make([]float64, d), w, centre))
	}
	value := func(w []float64) float64 { return loss(rows, w) + mat.Inner(off(w), draw, off(w))/2 }
	w := slices.Clone(start)
	const halvings, enough = 30, 1e-9
	for at := value(w); ; {
		slope, curve := derivatives(rows, w)
		var drawn, step mat.VecDense
		drawn.MulVec(draw, off(w))
		slope.AddVec(slope, &drawn)
		curve.AddSym(curve, draw)
		var factors mat.Cholesky
		if !factors.Factorize(curve) || factors.SolveVecTo(&step, slope) != nil || mat.Dot(slope, &step)/2 <= enough*(1+at) {
			return w
		}
		next, size := make([]float64, len(w)), 1.0
		var reached float64
		for range halvings {
			if reached = value(floats.AddScaledTo(next, w, -size, step.RawVector().Data)); reached < at {
				break
			}
			size /= 2
		}
		if !(reached < at-enough*(1+at)) {
			return w
		}
		w, at = next, reached
	}
}

// derivatives returns the first and the second derivatives of the sum of the losses, added up by blocks of rows.
func derivatives(rows mnist.Features, w []float64) (*mat.VecDense, *mat.SymDense) {
	d, block, row := len(w), min(256, max(1, rows.Len())), make([]float64, len(w))
	slope, curve, x := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil), mat.NewDense(d, block, nil)
	for from := 0; from < rows.Len(); from += block {
		x.Zero()
		for i := from; i < min(from+block, rows.Len()); i++ {
			p := 1 / (1 + math.Exp(-score(rows.Row(i), w)))
			for j, v := range rows.Row(i) {
				row[j] = float64(v)
			}
			floats.AddScaled(slope.RawVector().Data, p-float64(rows.Labels[i]), row)
			x.SetCol(i-from, floats.ScaleTo(row, math.Sqrt(p*(1-p)), row))
		}
		curve.SymRankK(curve, 1, x)
	}
	return slope, curve
}
