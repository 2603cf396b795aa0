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

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/mnist"
)

// The ways to a model, in the order in which they are tried. Of two that are equally good the first is chosen.
const (
	Shared    = "shared"    // the chain's model
	Intercept = "intercept" // the chain's model with an intercept of the member's own
	Adapted   = "adapted"   // all parameters fitted, drawn to the chain's model
	Alone     = "alone"     // all parameters fitted, drawn to 0: the model that the member makes without the chain
	Mine      = "mine"      // a model that the member already has: no fit leads to it
)

const (
	folds = 5
	// leastUnits is the min number of groups or rows: two in each fold.
	leastUnits = 2 * folds
	// free is how strongly the intercept is drawn, as a part of how strongly the other parameters are.
	free = 0.1
)

// lambdas are the strengths with which fitted parameters are drawn. A lambda adds lambda/2 times the
// squared distance to the sum of the rows' losses.
var lambdas = []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}

// Way is a way to a model, with the parameters to which it leads from all rows.
type Way struct {
	Name       string    `json:"name"`
	Lambda     float64   `json:"lambda,omitempty"` // 0 where nothing is drawn
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

// From returns the three ways of Fit that begin with the chain's model, for rows of which Fit has a model.
func From(rows mnist.Features, shared []float64) ([]Way, error) {
	if rows.Inputs != len(shared) {
		return nil, fmt.Errorf("rows of %d inputs, the model has %d parameters", rows.Inputs, len(shared))
	}
	intercept := best(rows, Intercept, shared, math.Inf(1))
	intercept.Lambda = 0
	return []Way{{Name: Shared, Loss: loss(rows, shared) / float64(rows.Len()), Parameters: shared}, intercept,
		best(rows, Adapted, shared, lambdas...)}, nil
}

// Ridge returns the way Alone, with the errors of Fit.
func Ridge(rows mnist.Features) (w Way, err error) {
	switch units := len(unitsOf(rows)); {
	case units < leastUnits:
		return w, fmt.Errorf("%d groups or rows to train on, want at least %d", units, leastUnits)
	case !slices.Contains(rows.Labels, 0) || !slices.Contains(rows.Labels, 1):
		return w, errors.New("all rows to train on have one label")
	}
	return best(rows, Alone, make([]float64, rows.Inputs), lambdas...), nil
}

// best returns the way that is drawn to a centre with the lambda, of some that ascend, of the least loss of the rows
// that a fit left out. A fit begins where that of the next larger lambda ends, which is near.
func best(rows mnist.Features, name string, centre []float64, lambdas ...float64) Way {
	sums := make([]float64, len(lambdas))
	for k := range folds {
		var train, test []int
		for i, unit := range unitsOf(rows) {
			if i%folds == k {
				test = append(test, unit...)
			} else {
				train = append(train, unit...)
			}
		}
		w, fitted, left := centre, rows.Subset(train), rows.Subset(test)
		for i, lambda := range slices.Backward(lambdas) {
			w = fit(fitted, centre, w, lambda)
			sums[i] += loss(left, w)
		}
	}
	w := Way{Name: name, Lambda: lambdas[0], Loss: math.Inf(1)}
	for i, sum := range sums {
		if l := sum / float64(rows.Len()); l < w.Loss {
			w.Loss, w.Lambda = l, lambdas[i]
		}
	}
	w.Parameters = fit(rows, centre, centre, w.Lambda)
	return w
}

// Best returns the way with the least loss.
func Best(ways []Way) Way {
	return slices.MinFunc(ways, func(a, b Way) int { return cmp.Compare(a.Loss, b.Loss) })
}

// unitsOf returns the rows of each group in an order that looks random and is the same in every run.
func unitsOf(rows mnist.Features) [][]int {
	units := mnist.ByGroup(rows.Groups)
	if rows.Groups == nil {
		for i := range rows.Len() {
			units = append(units, []int{i})
		}
	}
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

// fit minimises the sum of the losses and of lambda/2 times the squared distance from centre, by
// Newton's method with halved steps from start. With an infinite lambda only the intercept moves, and freely.
func fit(rows mnist.Features, centre, start []float64, lambda float64) []float64 {
	draw := make([]float64, len(centre))
	for j := range draw {
		draw[j] = lambda
	}
	if draw[len(draw)-1] = free * lambda; math.IsInf(lambda, 1) {
		draw[len(draw)-1] = free * lambdas[0]
	}
	value := func(w []float64) float64 {
		sum := loss(rows, w)
		for j, c := range centre {
			if w[j] != c {
				sum += draw[j] / 2 * (w[j] - c) * (w[j] - c)
			}
		}
		return sum
	}
	w := slices.Clone(start)
	const halvings, enough = 30, 1e-9
	for at := value(w); ; {
		step := newton(rows, w, centre, draw)
		next, size := make([]float64, len(w)), 1.0
		var reached float64
		for range halvings {
			for j := range w {
				next[j] = w[j] - size*step[j]
			}
			if reached = value(next); reached < at {
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

// newton returns the Newton step, in the coordinates that may move.
func newton(rows mnist.Features, w, centre, draw []float64) []float64 {
	d := len(w)
	slope, curve := make([]float64, d), make([]float64, d*d) // only the upper triangle of curve is set
	for i := range rows.Len() {
		row := rows.Row(i)
		p := 1 / (1 + math.Exp(-score(row, w)))
		for a, x := range row {
			slope[a] += (p - float64(rows.Labels[i])) * float64(x)
			weighed := p * (1 - p) * float64(x)
			for b, y := range row[a:] {
				curve[a*d+a+b] += weighed * float64(y)
			}
		}
	}
	for a := range d {
		if math.IsInf(draw[a], 1) { // it stays where it is
			for b := range d {
				curve[min(a, b)*d+max(a, b)] = 0
			}
			slope[a], curve[a*d+a] = 0, 1
			continue
		}
		slope[a] += draw[a] * (w[a] - centre[a])
		curve[a*d+a] += draw[a]
	}
	step := mat.NewVecDense(d, nil)
	var factors mat.Cholesky
	if !factors.Factorize(mat.NewSymDense(d, curve)) || factors.SolveVecTo(step, mat.NewVecDense(d, slope)) != nil {
		return make([]float64, d)
	}
	return step.RawVector().Data
}
