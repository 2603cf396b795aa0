package adapt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spdl/spdl/mnist"
)

// The verdicts of a model beside the one that the member makes alone.
const (
	Better = "better"
	Same   = "no difference"
	Worse  = "worse"
)

const (
	draws = 1000 // of the bootstrap
	bins  = 10   // of the calibration
	least = 0.01 // of the Brier score of Alone: a smaller difference is none
)

// Interval is a measure with the 2.5th and the 97.5th percentile of its bootstrap.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Bin is a part of a calibration curve: the test rows with probabilities within a tenth.
type Bin struct {
	Rows     int     `json:"rows"`
	Chance   float64 `json:"chance"`   // mean probability
	Positive float64 `json:"positive"` // share of the second class
}

// Measured is a way to a model with its measures on test rows that no fit saw.
type Measured struct {
	Way
	AUC       Interval `json:"auc"`
	Brier     Interval `json:"brier"`
	Recall    Interval `json:"recall"` // of the positive rows those at or above the threshold
	Precision Interval `json:"precision"`
	ECE       Interval `json:"ece"` // expected calibration error over ten bins of equal width
	Curve     []Bin    `json:"curve"`
	// Beside is the Brier score minus that of Alone, on the same draws: below 0 is better. Verdict is Better or
	// Worse if its interval has one sign and it is not too small to matter, and Same if not.
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
	Models    []Measured `json:"models"`
	Gain      string     `json:"gain"` // the verdict of the chosen model
}

// Gain measures the ways from the chain's model, shared, to a model for a member: fitted to train, measured
// on test. A threshold of 0 stands for the rate of the training rows. Intervals are of draws of whole
// groups, the same in every run.
func Gain(train, test mnist.Features, shared []float64, threshold float64) (r Report, err error) {
	if !slices.Contains(test.Labels, 0) || !slices.Contains(test.Labels, 1) {
		return r, fmt.Errorf("all %d test rows have one label", test.Len())
	}
	if test.Inputs != len(shared) {
		return r, errors.New("the test rows do not fit the model")
	}
	ways, err := Fit(train, shared)
	if err != nil {
		return r, err
	}
	units := unitsOf(test)
	r = Report{Rows: test.Len(), Units: len(units), Positives: positives(test), Threshold: threshold}
	if r.Threshold == 0 {
		r.Threshold = float64(positives(train)) / float64(train.Len())
	}
	chosen := Best(ways[:len(ways)-1]).Name
	all := make([]scores, len(ways))
	for i, w := range ways {
		all[i] = scoresOf(test, w.Parameters)
	}
	drawn := make([][]measures, len(ways))
	rng := rand.New(rand.NewPCG(0, 1))
	for range draws {
		counts := make([]float64, test.Len())
		for range units {
			for _, row := range units[rng.IntN(len(units))] {
				counts[row]++
			}
		}
		for i := range all {
			drawn[i] = append(drawn[i], all[i].measure(counts, r.Threshold))
		}
	}
	ones := slices.Repeat([]float64{1}, test.Len())
	alone := len(ways) - 1
	for i, w := range ways {
		m := Measured{Way: w, Curve: all[i].curve(ones), Chosen: w.Name == chosen}
		whole, base := all[i].measure(ones, r.Threshold), all[alone].measure(ones, r.Threshold)
		for k, to := range []*Interval{&m.AUC, &m.Brier, &m.Recall, &m.Precision, &m.ECE} {
			*to = interval(whole[k], drawn[i], func(j int) float64 { return drawn[i][j][k] })
		}
		m.Beside = interval(whole[1]-base[1], drawn[i], func(j int) float64 { return drawn[i][j][1] - drawn[alone][j][1] })
		switch m.Verdict = Same; {
		case math.Abs(m.Beside.Value) < least*base[1]:
		case m.Beside.High < 0:
			m.Verdict = Better
		case m.Beside.Low > 0:
			m.Verdict = Worse
		}
		if m.Chosen {
			r.Gain = m.Verdict
		}
		r.Models = append(r.Models, m)
	}
	return r, nil
}

// Ways returns the models without their measures.
func (r Report) Ways() (out []Way) {
	for _, m := range r.Models {
		out = append(out, m.Way)
	}
	return out
}

func positives(rows mnist.Features) (n int) {
	for _, label := range rows.Labels {
		n += int(label)
	}
	return n
}

// interval returns a measure with its percentiles. A draw without positive or without negative rows has none.
func interval(value float64, drawn []measures, of func(int) float64) Interval {
	var all []float64
	for j := range drawn {
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

// scores are probabilities of the second class, and the rows in their order.
type scores struct {
	chance []float64
	labels []uint8
	order  []int
}

func scoresOf(rows mnist.Features, w []float64) scores {
	s := scores{labels: rows.Labels}
	for i := range rows.Len() {
		s.chance, s.order = append(s.chance, 1/(1+math.Exp(-score(rows.Row(i), w)))), append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.chance[a], s.chance[b]) })
	return s
}

// measures are AUC, Brier score, recall, precision and calibration error. A measure that is not defined is NaN,
// but precision is 0 where no row is at the threshold.
type measures [5]float64

// measure measures with each row as often as counts says. The AUC is that of the Mann-Whitney statistic:
// two rows of equal chance count half.
func (s scores) measure(counts []float64, threshold float64) measures {
	var brier, n, ones, hits, called, below, wins, tied, tiedOnes float64
	flush := func() { wins, below, tied, tiedOnes = wins+tiedOnes*(below+tied/2), below+tied, 0, 0 }
	for at, i := range s.order {
		c, p, y := counts[i], s.chance[i], float64(s.labels[i])
		if at > 0 && p != s.chance[s.order[at-1]] {
			flush()
		}
		n, ones, brier = n+c, ones+c*y, brier+c*(p-y)*(p-y)
		tied, tiedOnes = tied+c*(1-y), tiedOnes+c*y
		if p >= threshold {
			hits, called = hits+c*y, called+c
		}
	}
	flush()
	ece := 0.
	for _, b := range s.curve(counts) {
		ece += float64(b.Rows) / n * math.Abs(b.Chance-b.Positive)
	}
	return measures{wins / (ones * below), brier / n, hits / ones, hits / max(called, 1), ece}
}

// curve returns the bins of the calibration curve.
func (s scores) curve(counts []float64) []Bin {
	out := make([]Bin, bins)
	for i, p := range s.chance {
		b := &out[min(bins-1, int(p*bins))]
		b.Rows, b.Chance = b.Rows+int(counts[i]), b.Chance+counts[i]*p
		b.Positive += counts[i] * float64(s.labels[i])
	}
	for i := range out {
		if n := float64(out[i].Rows); n > 0 {
			out[i].Chance, out[i].Positive = out[i].Chance/n, out[i].Positive/n
		}
	}
	return out
}
