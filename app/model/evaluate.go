package model

import (
	"math"
	"slices"
)

// Eval is a model's result on a labelled set.
type Eval struct {
	Loss      float64 // mean cross-entropy in nats, over the examples that NonFinite does not count
	Accuracy  float64 // Correct divided by Examples; 0 without examples
	Correct   int     // number of examples whose label has the largest logit; the lowest class wins a tie
	Examples  int     // number of examples
	NonFinite int     // number of examples whose logits overflow float32; such an example is never correct
	// Guesses counts examples by label and by guess, which is the class of the largest logit. It is
	// a square matrix, row-major: a row for each label, a column for each guess. It leaves out the
	// examples that NonFinite counts. It is nil if no counts are known.
	Guesses []int
	Quality *Quality // of a model of two classes that package evaluate measured, else nil
}

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
	// Error is the standard error of Mean minus Rate, the root of the sum over independent groups of examples of
	// (sum of probability minus label)^2, over the number of examples; 0 if it is not computed.
	Error float64 `json:"mean_error,omitempty"`
}

// Counts returns the numbers of examples by label and by guess, both empty if no counts are known.
func (e Eval) Counts() (labels, guesses []int) {
	n := int(math.Sqrt(float64(len(e.Guesses))))
	labels, guesses = make([]int, n), make([]int, n)
	for i, count := range e.Guesses {
		labels[i/n], guesses[i%n] = labels[i/n]+count, guesses[i%n]+count
	}
	return labels, guesses
}

// Majority returns the accuracy of always guessing the most frequent label, 0 if no counts are known.
func (e Eval) Majority() float64 {
	labels, _ := e.Counts()
	return float64(slices.Max(append(labels, 0))) / float64(max(1, e.Examples-e.NonFinite))
}

// Evaluate computes loss and accuracy at params. x holds the examples row-major, with Inputs values
// for each of the labels. Evaluate panics if shapes do not match or a label is not below Classes.
func (m *Model) Evaluate(params []float64, x []float32, labels []uint8) Eval {
	m.load(params, x, labels)
	eval := Eval{Examples: len(labels)}
	for i, label := range labels {
		m.forward(m.row(x, i))
		guess := argmax(m.logits)
		loss := residual(m.logits, label)
		if !finite(loss) {
			eval.NonFinite++
			continue
		}
		eval.Loss += loss
		if eval.Guesses == nil {
			eval.Guesses = make([]int, len(m.logits)*len(m.logits))
		}
		eval.Guesses[int(label)*len(m.logits)+guess]++
		if guess == int(label) {
			eval.Correct++
		}
	}
	if n := len(labels) - eval.NonFinite; n > 0 {
		eval.Loss /= float64(n)
	}
	if len(labels) > 0 {
		eval.Accuracy = float64(eval.Correct) / float64(len(labels))
	}
	return eval
}

// Positive returns each example's probability of class 1, for a model of two classes. The probability of an example is
// NaN if one of its logits is not finite. The arguments and the panics are those of Evaluate.
func (m *Model) Positive(params []float64, x []float32, labels []uint8) []float64 {
	m.load(params, x, labels)
	chance := make([]float64, len(labels))
	for i := range chance {
		m.forward(m.row(x, i))
		chance[i] = 1 / (1 + math.Exp(float64(m.logits[0])-float64(m.logits[1])))
		if !finite(float64(m.logits[0])) || !finite(float64(m.logits[1])) {
			chance[i] = math.NaN()
		}
	}
	return chance
}

// argmax returns the lowest index of the largest value.
func argmax(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
