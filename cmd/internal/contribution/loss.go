package contribution

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// testLoss is the mean cross-entropy of a chain's models on a test set: the same number on every CPU
// that computes the same inputs. Package model computes the same loss faster, in float32, with kernels
// that differ between CPUs in the last bits. It is safe for concurrent use.
type testLoss struct {
	spec model.Spec
	test mnist.Set
	set  mnist.Features
}

// newLoss prepares a test set for the models of a chain. It fails with evaluate.ErrExternal for
// models that only trainers measure, and with inputs.ErrInputs if the set does not fit the model.
func newLoss(test mnist.Set, m params.Model) (*testLoss, error) {
	if m.Kind == params.ModelExternal {
		return nil, evaluate.ErrExternal
	}
	if test.Len() == 0 {
		return nil, fmt.Errorf("%w: the test set is empty", inputs.ErrInputs)
	}
	set, err := inputs.Features(test, nil, m, inputs.Keep{})
	if err != nil {
		return nil, fmt.Errorf("test set: %w", err)
	}
	spec := model.SpecOf(m)
	return &testLoss{spec, test, set}, spec.Validate()
}

// testHash returns a hash of the examples, images and labels. It does not depend on the model and the CPU.
func (l *testLoss) testHash() string {
	h := sha256.New()
	for _, n := range []int{l.test.Len(), l.test.Rows, l.test.Cols} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	h.Write(l.test.Images)
	h.Write(l.test.Labels)
	return hex.EncodeToString(h.Sum(nil))
}

// inputsHash returns a hash of the inputs, as the model gets them, and the labels. It may depend on
// the CPU for strokes, which CPUs round differently, but not for pixels.
func (l *testLoss) inputsHash() string {
	h := sha256.New()
	for i, label := range l.set.Labels {
		_ = binary.Write(h, binary.LittleEndian, l.set.Row(i)) // writing to a hash does not fail
		h.Write([]byte{label})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// at returns the loss at parameters, in nats.
func (l *testLoss) at(parameters []float64) float64 {
	var first, second affine
	if l.spec.Hidden == 0 {
		first = layer(parameters, l.spec.Inputs, l.spec.Outputs(), l.spec.NoBias)
	} else {
		first = layer(parameters, l.spec.Inputs, l.spec.Hidden, l.spec.NoBias)
		second = layer(parameters[first.size:], l.spec.Hidden, l.spec.Outputs(), l.spec.NoBias)
	}
	x, hidden := make([]float64, l.spec.Inputs), make([]float64, l.spec.Hidden)
	logits := make([]float64, l.spec.Classes)
	outputs := logits[l.spec.Classes-l.spec.Outputs():] // the logits before them are 0
	sum := 0.0
	for i, label := range l.set.Labels {
		for j, v := range l.set.Row(i) {
			x[j] = float64(v)
		}
		if l.spec.Hidden == 0 {
			first.forward(outputs, x)
		} else {
			first.forward(hidden, x)
			for j, v := range hidden {
				hidden[j] = tanh(v)
			}
			second.forward(outputs, hidden)
		}
		sum += crossEntropy(logits, label)
	}
	return sum / float64(len(l.set.Labels))
}

// crossEntropy returns the loss of logits at a label.
func crossEntropy(logits []float64, label uint8) float64 {
	top := slices.Max(logits)
	total := 0.0
	for _, v := range logits {
		total += exp(v - top)
	}
	return top - logits[label] + log(total)
}

// affine is a layer with its weights by input, so that one input's weights are neighbours.
type affine struct {
	weights []float64 // [in][out]
	bias    []float64 // nil without
	size    int       // of the layer's parameters
}

// layer takes the layer at the start of parameters, which hold weights [out][in] and then biases.
func layer(parameters []float64, in, out int, noBias bool) affine {
	l := affine{weights: make([]float64, in*out), size: in * out}
	for c := range out {
		for j := range in {
			l.weights[j*out+c] = parameters[c*in+j]
		}
	}
	if !noBias {
		l.bias, l.size = parameters[in*out:(in+1)*out], (in+1)*out
	}
	return l
}

// forward sets dst[c] = sum over j of W[c][j] x[j], in the order of j, plus b[c]. Inputs that are 0 add nothing.
func (l affine) forward(dst, x []float64) {
	clear(dst)
	for j, v := range x {
		if v == 0 {
			continue
		}
		weights := l.weights[j*len(dst):][:len(dst)]
		for c, w := range weights {
			dst[c] += float64(w * v)
		}
	}
	for c, b := range l.bias {
		dst[c] += b
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
