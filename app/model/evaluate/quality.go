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
}

// bins is the number of bins of the calibration error.
const bins = 10

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
func quality(chance []float64, labels []uint8) (q Quality, err error) {
	n := float64(len(chance))
	var sums [bins]struct{ chance, positive float64 }
	for i, p := range chance {
		if math.IsNaN(p) {
			return Quality{}, fmt.Errorf("the probability of example %d is not finite", i)
		}
		y := float64(labels[i])
		if (p > 0.5) == (y == 1) {
			q.Accuracy += 1 / n
		}
		q.Brier, q.Rate, q.Mean = q.Brier+(p-y)*(p-y)/n, q.Rate+y/n, q.Mean+p/n
		b := &sums[min(bins-1, int(p*bins))]
		b.chance, b.positive = b.chance+p, b.positive+y
	}
	for _, b := range sums {
		q.ECE += math.Abs(b.chance-b.positive) / n
	}
	q.AUC = auc(chance, labels)
	return q, nil
}

// auc returns the area under the ROC curve by the Mann-Whitney statistic: the part of all pairs of a
// positive and a negative example in which the positive example has the greater chance. A pair with
// equal chances counts half.
func auc(chance []float64, labels []uint8) float64 {
	order := make([]int, len(chance))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(chance[a], chance[b]) })
	var below, wins, positives float64 // below counts the negative examples with a smaller chance than example order[from]
	for from := 0; from < len(order); {
		to, ones, zeros := from, 0., 0.
		for ; to < len(order) && chance[order[to]] == chance[order[from]]; to++ {
			ones += float64(labels[order[to]])
			zeros += 1 - float64(labels[order[to]])
		}
		wins += ones * (below + zeros/2)
		below, positives, from = below+zeros, positives+ones, to
	}
	return wins / (positives * below)
}
