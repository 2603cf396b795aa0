package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/mnist"
)

// Quality holds measures of a model of two classes.
type Quality = model.Quality

// bins is the number of bins of the calibration error, and middle the probability from which the label is likelier.
const bins, middle = 10, 0.5

// quality measures a model of two classes on the test set. It returns nil for a test set of one class alone, of whose
// examples no rank is known, and if a probability is not finite.
func (e *Evaluator) quality(parameters []float64) *Quality {
	chance := e.model.Positive(parameters, e.set.X, e.set.Labels)
	if slices.ContainsFunc(chance, math.IsNaN) || !slices.Contains(e.set.Labels, 0) || !slices.Contains(e.set.Labels, 1) {
		return nil
	}
	q := Score(chance, e.set.Labels).Measure(slices.Repeat([]float64{1}, len(chance)), middle)
	for _, rows := range mnist.Units(e.set.Groups, e.set.Len()) {
		off := 0.
		for _, i := range rows {
			off += chance[i] - float64(e.set.Labels[i])
		}
		q.Error += off * off
	}
	q.Error = math.Sqrt(q.Error) / float64(len(chance))
	return &q
}

// Scored are the probabilities of the positive class of examples, with their labels and their order.
type Scored struct {
	chance []float64
	labels []uint8
	order  []int
}

// Score sorts examples by their probability of the positive class, which is not NaN.
func Score(chance []float64, labels []uint8) Scored {
	s := Scored{chance, labels, make([]int, len(chance))}
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(chance[a], chance[b]), a-b) })
	return s
}

// Measure measures with each example as often as counts says. The AUC is that of the Mann-Whitney statistic, the part
// of all pairs of a positive and a negative example in which the positive one has the greater chance; a pair with
// equal chances counts half. What is not defined without examples of one label is NaN; the precision is 0 if no
// example is positive from the threshold on.
func (s Scored) Measure(counts []float64, threshold float64) (q Quality) {
	var n, ones, hits, called, below, wins, tied, tiedOnes float64
	flush := func() { wins, below, tied, tiedOnes = wins+tiedOnes*(below+tied/2), below+tied, 0, 0 }
	for at, i := range s.order {
		c, p, y := counts[i], s.chance[i], float64(s.labels[i])
		if at > 0 && p != s.chance[s.order[at-1]] {
			flush()
		}
		n, ones, q.Brier, q.Mean = n+c, ones+c*y, q.Brier+c*(p-y)*(p-y), q.Mean+c*p
		tied, tiedOnes = tied+c*(1-y), tiedOnes+c*y
		if (p > middle) == (y == 1) {
			q.Accuracy += c
		}
		if p >= threshold {
			hits, called = hits+c*y, called+c
		}
	}
	flush()
	for _, b := range s.Curve(counts) {
		q.ECE += float64(b.Rows) / n * math.Abs(b.Chance-b.Positive)
	}
	q.Accuracy, q.Brier, q.Mean, q.Rate = q.Accuracy/n, q.Brier/n, q.Mean/n, ones/n
	q.AUC, q.Recall, q.Precision = wins/(ones*below), hits/ones, hits/max(called, 1)
	return q
}

// Bin is a part of a calibration curve: the examples with probabilities within a tenth.
type Bin struct {
	Rows     int     `json:"rows"`
	Chance   float64 `json:"chance"`   // mean probability
	Positive float64 `json:"positive"` // share of the positive class
}

// Curve returns the bins of the calibration curve, with each example as often as counts says.
func (s Scored) Curve(counts []float64) []Bin {
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
