package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// The max number of coefficients of a class on a page, and the number of steps in the picture of an effect.
const shownCoefficients, effectSteps = 60, 40

// A linear model of a table has for each class a weight for an input's distance from its typical value, and behind the
// weights the log odds of a row with typical values in all columns: of two classes against the first, of more against
// the mean of all.
type linear struct {
	*params.Table
	weights [][]float64
}

// no and yes are the values of an input with two values.
const no, yes = (params.TableNo - params.TableMean) / params.TableScale, (params.TableYes - params.TableMean) /
	params.TableScale

// linearOf returns the model of a table at its parameters. If it is not linear, it says why.
func linearOf(m params.Model, x []float64) (l *linear, why string) {
	switch {
	case m.Kind == params.ModelExternal:
		return nil, "The model is external. What its parameters mean, and what a single input does, its own program knows."
	case m.Kind == params.ModelMLP:
		return nil, "The model has hidden units. What an input does depends on all other inputs, so that no single number " +
			"and no sign says it."
	case m.Table == nil || len(x) != m.Dim():
		return nil, ""
	}
	l = &linear{Table: m.Table}
	in, n, centre := int(m.Inputs), m.Table.Inputs(), m.Table.Centre()
	if m.Outputs() == 1 {
		l.weights = append(l.weights, make([]float64, n+1))
	}
	for k := range m.Outputs() {
		row := append(slices.Clone(x[k*in:k*in+n]), 0)
		if !m.NoBias {
			row[n] = x[m.Outputs()*in+k]
		}
		if m.Centred() {
			row[n] += x[k*in+n] * params.TableConstant
		} else {
			for j, c := range centre {
				row[n] += row[j] * c
			}
		}
		l.weights = append(l.weights, row)
	}
	for j := range n + 1 {
		base := l.weights[0][j]
		for k := 1; k < len(l.weights) && len(l.weights) > 2; k++ {
			base += (l.weights[k][j] - base) / float64(k+1) // the mean
		}
		for _, row := range l.weights {
			row[j] -= base
		}
	}
	return l, ""
}

// chance returns the probability of a class for a typical row whose inputs from the first on have other values.
func (l *linear) chance(class, first int, values ...float64) float64 {
	centre, logits, sum := l.Centre(), make([]float64, len(l.weights)), 0.0
	for k, w := range l.weights {
		logits[k] = w[len(w)-1]
		for i, v := range values {
			logits[k] += w[first+i] * (v - centre[first+i])
		}
	}
	for _, z := range logits {
		sum += math.Exp(z - logits[class])
	}
	return 1 / sum
}

// A coefficientSet has the coefficients of a class, the largest first.
type coefficientSet struct {
	Class, Against string
	Number         int     // of the class
	Intercept      float64 // log odds of a row with typical values
	Typical        float64 // its probability
	Rows           []coefficient
}

// Shown are the rows on the page, and More is the number of the others.
func (s coefficientSet) Shown() []coefficient { return s.Rows[:len(s.Rows)-s.More()] }
func (s coefficientSet) More() int            { return max(0, len(s.Rows)-shownCoefficients) }

// A coefficient says what an input does to the log odds of a class.
type coefficient struct {
	Column      int // in the table
	Input       int // of the column
	Name, Value string
	Weight      float64 // for one unit of the model's input
	Noise       float64 // standard deviation of the noise in Weight; 0 for none
	Bar         float64 // its length, of 50
	Odds        string  // the factor of the odds for one unit of the column, or of Value against Against
	Against     string  // the most frequent category, to which Weight of another is relative too
	Rare        bool    // few rows have the category, and little stands behind Weight
	Range       string  // the ends of a column of numbers
	Whole       string  // the factor from one end to the other
}

// Left is where the bar begins, of 100.
func (c coefficient) Left() float64 { return 50 - max(0, math.Copysign(c.Bar, -c.Weight)) }

// sets returns the coefficients of the second of two classes, or of each of more, with this noise in each of them.
func (l *linear) sets(noise float64) (out []coefficientSet) {
	for class, w := range l.weights {
		s := coefficientSet{Class: l.Classes[class], Against: "the mean of all classes", Number: class,
			Intercept: w[len(w)-1], Typical: l.chance(class, 0)}
		if len(l.weights) == 2 && class == 0 {
			continue
		} else if len(l.weights) == 2 {
			s.Against = l.Classes[0]
		}
		for i, c := range l.Columns {
			s.Rows, w = append(s.Rows, coefficientsOf(c, i, w)...), w[c.Inputs():]
		}
		slices.SortStableFunc(s.Rows, func(a, b coefficient) int {
			return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight))
		})
		for i := range s.Rows {
			s.Rows[i].Noise *= noise
			s.Rows[i].Bar = 50 * math.Abs(s.Rows[i].Weight) / max(math.Abs(s.Rows[0].Weight), math.SmallestNonzeroFloat64)
		}
		out = append(out, s)
	}
	return out
}

// noiseOf returns the standard deviation of the noise of some rounds in a coefficient, if training took back none of
// it: at most that with momentum. Rules average about N-f vectors; for Krum, which does not, it returns 0.
func noiseOf(p params.Params, rounds uint64, participants int) float64 {
	averaged, classes := max(1, participants-int(p.Rule.Byzantine)), p.Model.Outputs()
	if p.Privacy.Mechanism != params.MechanismGaussian || p.Rule.Name == "krum" || p.Rule.Name == "bucketing+krum" {
		return 0
	}
	spread := cmp.Or(map[int]float64{1: 1, 2: 2}[classes], 1-1/float64(classes)) // of two classes the difference
	return p.Training.LearningRate / (1 - p.Training.Momentum) * p.Noise().Std *
		math.Sqrt(float64(rounds)*spread/float64(averaged))
}

// rare is the share of the rows up to which a category is said to be rare.
const rare = 0.05

// coefficientsOf returns the coefficients of a column, whose weights come first in w.
func coefficientsOf(c params.Column, number int, w []float64) (out []coefficient) {
	answer := func(i int, value, against string, weight, noise float64) {
		out = append(out, coefficient{Column: number, Input: i, Name: c.Name, Value: value, Against: against,
			Weight: weight, Noise: noise, Odds: oddsText(weight * (yes - no))})
	}
	if len(c.Values) > 0 {
		most := 0
		if len(c.Shares) > 0 {
			most = slices.Index(c.Shares, slices.Max(c.Shares))
		}
		for i, value := range c.Values {
			answer(i, value, c.Values[most], w[i]-w[most], math.Sqrt2)
			out[i].Rare = len(c.Shares) > 0 && c.Shares[i] <= rare
		}
		out[most].Noise = 0
		return out
	}
	out = append(out, coefficient{Column: number, Name: c.Name, Weight: w[0], Odds: oddsText(2 * w[0] / (c.High - c.Low)),
		Range: fmt.Sprintf("%.6g to %.6g", c.Low, c.High), Whole: oddsText(2 * w[0]), Noise: 1})
	if c.Inputs() > 1 {
		answer(1, "missing", "a number", w[1], 1)
	}
	return out
}

// oddsText returns the factor of log odds, with two digits of what it differs from 1.
func oddsText(x float64) string {
	factor := math.Exp(x)
	if differs := math.Abs(factor - 1); factor >= 0.1 && factor < 100 && differs > 1e-9 {
		return fmt.Sprintf("× %.*f", max(2, 1-int(math.Floor(math.Log10(differs)))), factor)
	}
	return fmt.Sprintf("× %.3g", factor)
}

// An effect is the probability of a class by the value of one column, where all other columns are typical.
type effect struct {
	Column, Class string
	Number        int    // of the column
	Chart         *chart // of a column of numbers
	Bars          []effectBar
}

// An effectBar is the probability at a category, or where the number is missing.
type effectBar struct {
	Value  string
	Chance float64
}

// effect returns the effect of a column on a class.
func (l *linear) effect(class, column int) *effect {
	c, first := l.Columns[column], 0
	for _, before := range l.Columns[:column] {
		first += before.Inputs()
	}
	e := &effect{Column: c.Name, Class: l.Classes[class], Number: column}
	inputs := slices.Repeat([]float64{no}, c.Inputs())
	for i, value := range c.Values {
		inputs[i] = yes
		e.Bars = append(e.Bars, effectBar{value, l.chance(class, first, inputs...)})
		inputs[i] = no
	}
	if c.Others {
		e.Bars = append(e.Bars, effectBar{"another value, or none", l.chance(class, first, inputs...)})
	}
	if len(c.Values) > 0 {
		return e
	}
	at := func(share float64) float64 {
		inputs[0] = 2*share - 1
		return l.chance(class, first, inputs...)
	}
	value := func(share float64) string { return fmt.Sprintf("%.4g", c.Low+share*(c.High-c.Low)) }
	chart := &chart{Name: "effect", Title: "Probability of " + l.Label + " = " + e.Class, Unit: "%", Across: c.Name}
	for k := range uint64(effectSteps + 1) {
		chart.dots = append(chart.dots, dot{k, at(float64(k) / effectSteps)})
	}
	chart.one(0, effectSteps, 0)
	for i := range chart.Rounds {
		chart.Rounds[i].Label = value(float64(i) / 2)
	}
	typical := (l.Centre()[first] + 1) / 2
	chart.Legend = fmt.Sprintf("%s where %s is %s, %s where it is %s, %s at the typical %s", chart.text(at(0)), c.Name,
		value(0), chart.text(at(1)), value(1), chart.text(at(typical)), value(typical))
	if e.Chart = chart; c.Inputs() > 1 {
		inputs[1] = yes
		e.Bars = append(e.Bars, effectBar{"missing", at((c.Missing.Fill - c.Low) / (c.High - c.Low))})
	}
	return e
}

// explain sets what a model of a table says of its columns, and the effect of the column of ?column= on the class of
// ?class=, or of the column with the largest coefficient.
func (b *modelPage) explain(r *Request) {
	x, err := app.DecodeParameters(r.Model(*b.At).Parameters)
	if r.Fail(err); r.Err() != nil {
		return
	}
	l, why := linearOf(b.Params.Model, x)
	if b.Opaque = why; l == nil {
		return
	}
	b.Sets = l.sets(noiseOf(b.Params, b.At.Round+1, b.Participants))
	class := int(r.NumberOr("class", uint64(b.Sets[0].Number)))
	column := int(r.NumberOr("column", uint64(b.Sets[0].Rows[0].Column)))
	if class >= len(l.Classes) || column >= len(l.Columns) {
		r.Fail(fmt.Errorf("%w: class %d of %d, column %d of %d", ErrBad, class, len(l.Classes), column, len(l.Columns)))
		return
	}
	b.Effect = l.effect(class, column)
}
