package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Quality holds measures of a model of two classes on a test set. The second class is the positive
// class. Reviewers of a medical model ask for these measures.
type Quality struct {
	AUC      float64 `json:"auc"`      // chance that a positive example gets a higher probability than a negative example
	Accuracy float64 `json:"accuracy"` // part of the examples whose label has the higher probability
	Brier    float64 `json:"brier"`    // mean square of probability minus label
	ECE      float64 `json:"ece"`      // expected calibration error over ten bins of equal width
	Rate     float64 `json:"rate"`     // part of the examples that are positive; its own Brier score is Rate (1 - Rate)
	Mean     float64 `json:"mean"`     // mean probability
	// Of the positive examples Recall have a probability from the threshold on, which is a half where none is named.
	// Of those that have it Precision are positive.
	Recall    float64 `json:"recall"`
	Precision float64 `json:"precision"`
}

// bins is the number of bins of the calibration error, and middle the probability from which the label is likelier.
const bins, middle = 10, 0.5

// Quality measures a model of two classes. It fails for another number of classes, for another
// number of parameters, for a test set of one class alone, and if a probability is not finite.
func (e *Evaluator) Quality(parameters []float64) (q Quality, err error) {
	switch classes := e.model.Spec().Classes; {
	case classes != 2:
		return q, fmt.Errorf("the model has %d classes, want 2", classes)
	case len(parameters) != e.model.Dim():
		return q, fmt.Errorf("%d parameters, the model has %d", len(parameters), e.model.Dim())
	case !slices.Contains(e.set.Labels, 0) || !slices.Contains(e.set.Labels, 1):
		return q, fmt.Errorf("all %d examples of the test set have one label", len(e.set.Labels))
	}
	return quality(e.model.Positive(parameters, e.set.X, e.set.Labels), e.set.Labels)
}

// quality computes the measures from each example's label and its probability (chance) of the
// positive class.
func quality(chance []float64, labels []uint8) (Quality, error) {
	if i := slices.IndexFunc(chance, math.IsNaN); i >= 0 {
		return Quality{}, fmt.Errorf("the probability of example %d is not finite", i)
	}
	return Score(chance, labels).Measure(slices.Repeat([]float64{1}, len(chance)), middle), nil
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
