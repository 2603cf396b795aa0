package adapt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/mnist"
)

// The verdicts of a model beside the one that the member makes alone.
const (
	Better = "better"
	Same   = "no difference"
	Worse  = "worse"
)

const draws = 1000 // of the bootstrap

// None returns how large a difference of Brier scores is none: a hundredth of the other, or 0.0000 in four digits.
func None(score float64) float64 { return max(score/100, 0.00005) }

// Doubt doubts a table by the AUC of the model that a member makes alone. It is "" if there is nothing to doubt.
func Doubt(alone float64) string {
	const perfect = 0.95 // from which a column may say what is known only afterwards
	if alone < perfect {
		return ""
	}
	return fmt.Sprintf(". An AUC of %.3f is rare: is a column known only once the label is? spdl schema draft --without "+
		"leaves it out", alone)
}

// Interval is a measure with the 2.5th and the 97.5th percentile of its bootstrap.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Text formats a measure with its interval, as "0.70 (0.61 to 0.78)" with two digits.
func (x Interval) Text(digits int) string {
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, x.Value, digits, x.Low, digits, x.High)
}

// Measured is a way to a model with its measures on test rows that no fit saw.
type Measured struct {
	Way
	AUC       Interval       `json:"auc"`
	Brier     Interval       `json:"brier"`
	Recall    Interval       `json:"recall"` // of the positive rows those at or above the threshold
	Precision Interval       `json:"precision"`
	ECE       Interval       `json:"ece"` // expected calibration error over ten bins of equal width
	Curve     []evaluate.Bin `json:"curve"`
	// Beside is the Brier score minus that of the last model, on the same draws: below 0 is better. Verdict is Better
	// or Worse if its interval has one sign and it is not too small to matter, and Same if not.
	Beside  Interval `json:"beside"`
	Verdict string   `json:"verdict"`
	Chosen  bool     `json:"chosen"` // the best of the models that come of the chain's, by the folds of the training rows
}

// Report says what a member gains by the chain's model.
type Report struct {
	Rows      int        `json:"rows"`  // of the test set
	Units     int        `json:"units"` // groups, or rows without groups
	Positives int        `json:"positives"`
	Threshold float64    `json:"threshold"`
	Models    []Measured `json:"models"` // the last is the one that the others are compared with: Mine, or Alone
	Gain      string     `json:"gain"`   // the verdict of the chosen model
}

// Gain measures the ways from the chain's model, shared, to a model for a member: fitted to train, measured
// on test. A threshold of 0 stands for the rate of the training rows. Intervals are of draws of whole
// groups, the same in every run. own are the rows of train and test with the inputs of Alone, if it has others, and
// mine the probabilities that a model of the member's gives the test rows, nil for none.
func Gain(train, test mnist.Features, shared []float64, threshold float64, mine []float64, own ...mnist.Features) (
	Report, error) {
	if !slices.Contains(test.Labels, 0) || !slices.Contains(test.Labels, 1) {
		return Report{}, fmt.Errorf("all %d test rows have one label", test.Len())
	}
	if test.Inputs != len(shared) || mine != nil && len(mine) != test.Len() {
		return Report{}, errors.New("the test rows do not fit the models")
	}
	ways, err := Fit(train, shared)
	if err != nil {
		return Report{}, err
	}
	units, alone := unitsOf(test), len(ways)-1
	r := Report{Rows: test.Len(), Units: len(units), Positives: bytes.Count(test.Labels, []byte{1}),
		Threshold: cmp.Or(threshold, float64(bytes.Count(train.Labels, []byte{1}))/float64(train.Len()))}
	chosen := Best(ways[:alone]).Name
	all := make([]evaluate.Scored, len(ways))
	for i, w := range ways {
		all[i] = scored(test, w.Parameters)
	}
	if len(own) == 2 {
		if ways[alone], err = Ridge(own[0]); err != nil {
			return r, err
		}
		all[alone] = scored(own[1], ways[alone].Parameters)
	}
	if mine != nil {
		ways, all = append(ways, Way{Name: Mine}), append(all, evaluate.Score(mine, test.Labels))
	}
	last, drawn := len(ways)-1, make([][]evaluate.Quality, len(ways))
	rng := rand.New(rand.NewPCG(0, 1))
	for range draws {
		counts := make([]float64, test.Len())
		for range units {
			for _, row := range units[rng.IntN(len(units))] {
				counts[row]++
			}
		}
		for i := range all {
			drawn[i] = append(drawn[i], all[i].Measure(counts, r.Threshold))
		}
	}
	ones := slices.Repeat([]float64{1}, test.Len())
	base := all[last].Measure(ones, r.Threshold)
	for i, w := range ways {
		m := Measured{Way: w, Curve: all[i].Curve(ones), Chosen: w.Name == chosen}
		m.set(all[i].Measure(ones, r.Threshold), base, drawn[i], drawn[last])
		if m.Chosen {
			r.Gain = m.Verdict
		}
		r.Models = append(r.Models, m)
	}
	return r, nil
}

// set sets the measures with their intervals, and the verdict beside base, whose draws are the same.
func (m *Measured) set(whole, base evaluate.Quality, drawn, baseDrawn []evaluate.Quality) {
	for to, of := range map[*Interval]func(evaluate.Quality) float64{
		&m.AUC:       func(q evaluate.Quality) float64 { return q.AUC },
		&m.Brier:     func(q evaluate.Quality) float64 { return q.Brier },
		&m.Recall:    func(q evaluate.Quality) float64 { return q.Recall },
		&m.Precision: func(q evaluate.Quality) float64 { return q.Precision },
		&m.ECE:       func(q evaluate.Quality) float64 { return q.ECE },
	} {
		*to = interval(of(whole), func(j int) float64 { return of(drawn[j]) })
	}
	m.Beside = interval(whole.Brier-base.Brier, func(j int) float64 { return drawn[j].Brier - baseDrawn[j].Brier })
	switch m.Verdict = Same; {
	case math.Abs(m.Beside.Value) < None(base.Brier):
	case m.Beside.High < 0:
		m.Verdict = Better
	case m.Beside.Low > 0:
		m.Verdict = Worse
	}
}

// Ways returns the models without their measures.
func (r Report) Ways() (out []Way) {
	for _, m := range r.Models {
		out = append(out, m.Way)
	}
	return out
}

// interval returns a measure with its percentiles. A draw without positive or without negative rows has none.
func interval(value float64, of func(draw int) float64) Interval {
	var all []float64
	for j := range draws {
		if x := of(j); !math.IsNaN(x) {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return Interval{value, value, value}
	}
	slices.Sort(all)
	const tail = 40 // the 40th part is beyond each end
	return Interval{value, all[len(all)/tail], all[len(all)-1-len(all)/tail]}
}

// scored returns the rows with their probabilities of the second class.
func scored(rows mnist.Features, w []float64) evaluate.Scored {
	chance := make([]float64, rows.Len())
	for i := range chance {
		chance[i] = 1 / (1 + math.Exp(-score(rows.Row(i), w)))
	}
	return evaluate.Score(chance, rows.Labels)
}
