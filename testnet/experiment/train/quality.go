package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// Quality holds measures of a model of two classes on a test set, the second of which is the
// positive class. Reviewers of a medical model ask for these measures.
type Quality struct {
	AUC      float64 // chance that a positive example has a higher probability than a negative one
	Accuracy float64
	Brier    float64 // mean square of probability minus label
	ECE      float64 // calibration error over ten bins of equal width
}

// Measure returns the quality of a softmax model of two classes.
func Measure(p params.Model, parameters []float64, set mnist.Set) (q Quality, err error) {
	if p.Kind != params.ModelSoftmax || p.Classes != 2 || p.NoBias || len(parameters) != p.Dim() {
		return q, fmt.Errorf("model %q of %d classes, want softmax with biases and two", p.Kind, p.Classes)
	}
	f, err := set.Features(int(p.Pool), p.PixelMean, p.PixelScale)
	if err != nil {
		return q, err
	}
	inputs := int(p.Inputs)
	chance := make([]float64, set.Len())
	var bins [10]struct{ n, sum, positive float64 }
	for i := range chance {
		logit := parameters[2*inputs+1] - parameters[2*inputs]
		for j, x := range f.Row(i) {
			logit += (parameters[inputs+j] - parameters[j]) * float64(x)
		}
		chance[i] = 1 / (1 + math.Exp(-logit))
		y := float64(set.Labels[i])
		if (logit > 0) == (y == 1) {
			q.Accuracy++
		}
		q.Brier += (chance[i] - y) * (chance[i] - y)
		b := &bins[min(len(bins)-1, int(chance[i]*float64(len(bins))))]
		b.n, b.sum, b.positive = b.n+1, b.sum+chance[i], b.positive+y
	}
	n := float64(set.Len())
	for _, b := range bins {
		q.ECE += math.Abs(b.sum-b.positive) / n
	}
	q.Accuracy, q.Brier, q.AUC = q.Accuracy/n, q.Brier/n, auc(chance, set.Labels)
	return q, nil
}

// auc is the Mann-Whitney statistic: equal chances count half.
func auc(chance []float64, labels []uint8) float64 {
	order := make([]int, len(chance))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(chance[a], chance[b]) })
	var below, wins, positives float64 // negatives with a smaller chance
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
