package pages

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// patients is a table with an input of each kind: age, sex as two, and ejection fraction with its indicator.
var patients = &params.Table{Label: "outcome", Classes: []string{"alive", "dead"}, Columns: []params.Column{
	{Name: "age", Low: 20, High: 100}, {Name: "sex", Values: []string{"F", "M"}},
	{Name: "ef", Low: 10, High: 80, Missing: &params.Missing{Fill: 45, Indicator: true}}}}

// TestCoefficients: they are in the unit of the column, the largest comes first, and the probability at a value is that
// of the model.
func TestCoefficients(t *testing.T) {
	m := params.Model{Kind: params.ModelLogistic, Inputs: 6, Classes: 2, NoBias: true, Table: patients}
	l, why := linearOf(m, []float64{2, 0.5, -0.5, -3, 0.25, -2})
	require.Empty(t, why)
	sets := l.sets(0.1)
	require.Len(t, sets, 1)
	require.Equal(t, []string{"dead", "alive"}, []string{sets[0].Class, sets[0].Against})
	require.InDelta(t, -2*params.TableConstant, sets[0].Intercept, 1e-12)
	require.Equal(t, []string{"ef", "age", "sex", "ef", "sex"}, []string{sets[0].Rows[0].Name, sets[0].Rows[1].Name,
		sets[0].Rows[2].Name, sets[0].Rows[3].Name, sets[0].Rows[4].Name})
	age := sets[0].Rows[1]
	require.Equal(t, "× 1.051", age.Odds, "e^(2*2/80)")
	require.Equal(t, "× 54.60", age.Whole, "e^4")
	require.Equal(t, []string{"M", "F", "× 0.37"}, []string{sets[0].Rows[2].Value, sets[0].Rows[2].Against,
		sets[0].Rows[2].Odds}, "e^(-127/127.5)")
	many := coefficientsOf(params.Column{Values: []string{"a", "b"}, Shares: []float64{0.05, 0.95}}, 0, []float64{1, 0.5})
	require.Equal(t, []bool{true, false}, []bool{many[0].Rare, many[1].Rare})
	require.Equal(t, []float64{math.Sqrt2, 0}, []float64{many[0].Noise, many[1].Noise})
	require.Equal(t, 0.1, age.Noise)
	require.InDelta(t, 0.1*math.Sqrt2, sets[0].Rows[2].Noise, 1e-12, "of a difference")
	require.Equal(t, []float64{0.5, 0}, []float64{many[0].Weight, many[1].Weight}, "beside the most frequent")
	require.Equal(t, []float64{50, 0}, []float64{sets[0].Rows[0].Bar, sets[0].Rows[0].Left()}, "below 0")
	require.Equal(t, 50.0, age.Left())

	e := l.effect(1, 0) // at age 100 the input is 1, and 0 where it is typical, 60
	require.InDelta(t, 1/(1+math.Exp(2*params.TableConstant-2)), e.Chart.dots[effectSteps].value, 1e-12)
	require.Equal(t, []string{"20", "60", "100"}, labels(e.Chart.Rounds))
	require.Empty(t, e.Bars)
	sex := l.effect(1, 1)
	require.Equal(t, []string{"F", "M"}, []string{sex.Bars[0].Value, sex.Bars[1].Value})
	require.Greater(t, sex.Bars[0].Chance, sex.Bars[1].Chance)
	require.Equal(t, "missing", l.effect(1, 2).Bars[0].Value)
}

// TestCoefficientsOfSoftmax: two classes have one set of coefficients, the difference of theirs, and more have
// one each, whose sum is 0; a shift of all classes changes nothing.
func TestCoefficientsOfSoftmax(t *testing.T) {
	table := *patients
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 5, Classes: 2, Table: &table}
	two, _ := linearOf(m, []float64{1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0.5, 0.25})
	require.Equal(t, []float64{2, 0, 0, 0, 0}, two.weights[1][:5])
	require.Equal(t, -0.25, two.weights[1][5], "at typical values all inputs of numbers are 0")

	table.Classes = []string{"a", "b", "c"}
	m.Classes = 3
	x := []float64{1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 2, 3}
	three, _ := linearOf(m, x)
	for i := range x {
		x[i] += 7
	}
	shifted, _ := linearOf(m, x)
	require.Len(t, three.sets(0), 3)
	require.Equal(t, []float64{-2, 0, 2}, []float64{three.weights[0][0], three.weights[1][0], three.weights[2][0]})
	sum := 0.0
	for of := range 3 {
		require.InDelta(t, three.chance(of, 0, 0.75), shifted.chance(of, 0, 0.75), 1e-9)
		sum += three.chance(of, 0, 0.75)
	}
	require.InDelta(t, 1, sum, 1e-12)
}

// TestNoCoefficients: what cannot be shown is said, and nothing is said of pictures.
func TestNoCoefficients(t *testing.T) {
	_, why := linearOf(params.Model{Kind: params.ModelExternal}, nil)
	require.Contains(t, why, "external")
	_, why = linearOf(params.Model{Kind: params.ModelMLP}, nil)
	require.Contains(t, why, "hidden units")
	l, why := linearOf(params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10}, nil)
	require.Nil(t, l)
	require.Empty(t, why)
}

// TestNoiseOfCoefficients: a training on noise alone ends as far from its beginning as the page says, where vectors are
// gradients and where they are sums; with momentum not farther.
func TestNoiseOfCoefficients(t *testing.T) {
	const n, rounds, dim, steps = 10, 40, 4000, 300 // steps of the grid in a standard deviation
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		rule             string
		worker, momentum float64
		least, most      float64 // of what is measured over what is said
	}{
		{"agnostic-mean", 0, 0, 0.85, 1.05}, {"agnostic-mean", 1, 0, 0.8, 1.1}, {"nnm+trimmed-mean", 0, 0, 0.85, 1.05},
		{"agnostic-mean", 0.5, 0.5, 0.7, 1.05},
	} {
		p := params.Params{Rule: params.Rule{Name: x.rule, Byzantine: 3}, Model: params.Model{Kind: params.ModelLogistic,
			Classes: 2}, Privacy: params.Privacy{Mechanism: params.MechanismGaussian, NoiseMultiplier: 6, Clip: 0.5,
			Batch: 100, WorkerMomentum: x.worker},
			Training: params.Training{LearningRate: 2, Momentum: x.momentum}}
		rule, err := rules.Lookup(x.rule)
		require.NoError(t, err)
		vectors, model, velocity := make([][dim]float64, n), [dim]float64{}, [dim]float64{}
		for range rounds {
			in := rules.Input{N: n, F: 3}
			for i := range vectors {
				v := gradients.NewVector(gradients.Int16, dim)
				for j := range dim {
					fresh := steps * r.NormFloat64()
					if x.worker < 1 {
						fresh *= 1 - x.worker
					}
					vectors[i][j] = x.worker*vectors[i][j] + fresh
					v.Set(j, int64(math.Round(vectors[i][j])))
				}
				in.Vectors = append(in.Vectors, v)
			}
			out, err := rule.Aggregate(in)
			require.NoError(t, err)
			for j := range dim {
				g := float64(out.Delta.Num[j]) / float64(out.Delta.Den) / steps * 0.03 // 6 * 0.5 / 100
				if velocity[j] = x.momentum*velocity[j] + g; x.worker == 1 {
					model[j] = 0
				}
				model[j] -= 2 * velocity[j]
			}
		}
		for _, classes := range []int{1, 2, 4} { // of one output, of the difference of two, and beside the mean of four
			var sum, count float64
			for j := 0; j < dim; j += classes {
				var mean float64
				for _, w := range model[j : j+classes] {
					mean += w / float64(classes)
				}
				switch of := model[j]; classes {
				case 1:
					sum += of * of
				case 2:
					sum += (of - model[j+1]) * (of - model[j+1])
				case 4:
					sum += (of - mean) * (of - mean)
				}
				count++
			}
			if p.Model.Classes = uint32(classes); classes > 1 {
				p.Model.Kind = params.ModelSoftmax
			}
			ratio := math.Sqrt(sum/count) / noiseOf(p, rounds, n)
			require.Greater(t, ratio, x.least, "%v, %d", x, classes)
			require.Less(t, ratio, x.most, "%v, %d", x, classes)
		}
		p.Rule.Name = "krum"
		require.Zero(t, noiseOf(p, rounds, n))
	}
}
