package model

import (
	"fmt"
	"math"
	"slices"
)

// Model computes gradients and accuracy for one [Spec]. It holds scratch memory and no parameters.
// It is not safe for concurrent use: each goroutine needs its own.
type Model struct {
	spec   Spec
	hidden layer // unused if spec.Hidden is 0
	output layer

	weights    []float64 // the weight of each class, at most 1; nil means that all weights are 1
	params     []float32 // the caller's parameters, rounded to float32
	logits     []float32 // the logits of one example, which residual turns into deltas in place
	outputs    []float32 // the last of the logits, which are computed: all of them, or with Logistic one
	activation []float32 // the outputs of the hidden units
	delta      []float32 // the deltas of the hidden units
}

// New returns a model with its scratch memory, about 4 bytes per parameter. If [Spec.Validate]
// rejects the spec, New fails with ErrSpec.
func New(s Spec) (*Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	m := &Model{
		spec:       s,
		params:     make([]float32, s.Dim()),
		logits:     make([]float32, s.Classes),
		activation: make([]float32, s.Hidden),
		delta:      make([]float32, s.Hidden),
	}
	m.outputs = m.logits[s.Classes-s.Outputs():]
	if s.Hidden == 0 {
		m.output = layer{in: s.Inputs, out: s.Outputs(), noBias: s.NoBias}
		return m, nil
	}
	m.hidden = layer{in: s.Inputs, out: s.Hidden, noBias: s.NoBias}
	m.output = layer{in: s.Hidden, out: s.Outputs(), offset: m.hidden.size(), noBias: s.NoBias}
	return m, nil
}

// Weigh sets the weight of each class. [Model.ClippedSum] multiplies the clipped gradient of an
// example by the weight of the example's class over the largest weight, so clip still bounds the
// contribution of one example, and only the ratios of weights matter. Nil resets all weights to 1.
// The number of weights must be 0 or Classes; if not, Weigh panics.
func (m *Model) Weigh(weights []float64) {
	if n := len(weights); n != 0 && n != m.spec.Classes {
		panic(fmt.Sprintf("model: %d weights, want one for each of %d classes", n, m.spec.Classes))
	}
	m.weights = nil
	for _, w := range weights {
		m.weights = append(m.weights, w/slices.Max(weights))
	}
}

// Spec returns the model's spec.
func (m *Model) Spec() Spec { return m.spec }

// Dim returns the number of parameters, which is also the length of a gradient.
func (m *Model) Dim() int { return len(m.params) }

// forward computes the logits of one example into m.logits. It returns the input of the output
// layer: the outputs of the hidden units, or x without a hidden layer.
func (m *Model) forward(x []float32) (fed []float32) {
	if m.spec.Hidden > 0 {
		m.hidden.forward(m.activation, m.params, x)
		for j, v := range m.activation {
			m.activation[j] = float32(math.Tanh(float64(v)))
		}
		x = m.activation
	}
	clear(m.logits)
	m.output.forward(m.outputs, m.params, x)
	return x
}

// residual turns logits into the output deltas of the cross-entropy loss, softmax probabilities
// minus the one-hot label, and returns that loss. The loss is NaN if a logit is not finite.
func residual(logits []float32, label uint8) (loss float64) {
	top := logits[0]
	for _, v := range logits {
		top = max(top, v) // NaN if any logit is NaN
	}
	loss = float64(top) - float64(logits[label])
	total := 0.0
	for c, v := range logits {
		e := math.Exp(float64(v) - float64(top))
		logits[c] = float32(e)
		total += e
	}
	for c, v := range logits {
		logits[c] = float32(float64(v) / total)
	}
	logits[label]--
	return loss + math.Log(total)
}

// load checks the arguments and copies the parameters, rounded to float32, to m.params. It panics if
// the lengths do not fit the spec or a label is not below Classes.
func (m *Model) load(params []float64, x []float32, labels []uint8) {
	if len(params) != m.Dim() {
		panic(fmt.Sprintf("model: %d parameters, want %d", len(params), m.Dim()))
	}
	if len(x) != len(labels)*m.spec.Inputs {
		panic(fmt.Sprintf("model: %d inputs, want %d rows of %d", len(x), len(labels), m.spec.Inputs))
	}
	for i, label := range labels {
		if int(label) >= m.spec.Classes {
			panic(fmt.Sprintf("model: label %d is %d, want below %d", i, label, m.spec.Classes))
		}
	}
	for j, v := range params {
		m.params[j] = float32(v)
	}
}

// row returns the inputs of example i.
func (m *Model) row(x []float32, i int) []float32 {
	return x[i*m.spec.Inputs : (i+1)*m.spec.Inputs]
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
