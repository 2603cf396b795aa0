package model

// Eval is a model's result on a labelled set.
type Eval struct {
	Loss      float64 // mean cross-entropy in nats, of the examples that are not NonFinite
	Accuracy  float64 // Correct divided by Examples; 0 without examples
	Correct   int     // examples whose label has the largest logit, the lowest such class on ties
	Examples  int     // number of examples
	NonFinite int     // examples whose logits overflow float32; never correct
	// Guesses counts the examples that are not NonFinite by label and by guess, the class of the largest
	// logit: Classes rows, one for each label, of Classes numbers. It is nil if there are none, or if
	// they are not known.
	Guesses []int
}

// Evaluate computes loss and accuracy at params on the examples x, row-major, Inputs values for
// each of the labels. It panics if shapes do not match or a label is not below Classes.
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
