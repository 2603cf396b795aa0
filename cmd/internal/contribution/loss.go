package contribution

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

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
// models that only trainers measure, and with inputs.ErrInputs if set and model do not fit.
func newLoss(test mnist.Set, m params.Model) (*testLoss, error) {
	if m.Kind == params.ModelExternal {
		return nil, evaluate.ErrExternal
	}
	if test.Len() == 0 {
		return nil, fmt.Errorf("%w: the test set is empty", inputs.ErrInputs)
	}
	set, err := inputs.Of(test, nil, m, inputs.Keep{})
	if err != nil {
		return nil, fmt.Errorf("test set: %w", err)
	}
	spec := model.SpecOf(m)
	return &testLoss{spec, test, set}, spec.Validate()
}

// testHash identifies the examples, images and labels, whatever the model and the CPU.
func (l *testLoss) testHash() string {
	h := sha256.New()
	for _, n := range []int{l.test.Len(), l.test.Rows, l.test.Cols} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	h.Write(l.test.Images)
	h.Write(l.test.Labels)
	return hex.EncodeToString(h.Sum(nil))
}

// inputsHash identifies the inputs, as the model gets them, and the labels. CPUs round the strokes
// of one image differently, and pixels alike.
func (l *testLoss) inputsHash() string {
	h := sha256.New()
	for i, label := range l.set.Labels {
		_ = binary.Write(h, binary.LittleEndian, l.set.Row(i)) // a hash takes all
		h.Write([]byte{label})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// at returns the loss at parameters, in nats.
func (l *testLoss) at(parameters []float64) float64 {
	var first, second affine
	if l.spec.Hidden == 0 {
		first = layer(parameters, l.spec.Inputs, l.spec.Classes, l.spec.NoBias)
	} else {
		first = layer(parameters, l.spec.Inputs, l.spec.Hidden, l.spec.NoBias)
		second = layer(parameters[first.size:], l.spec.Hidden, l.spec.Classes, l.spec.NoBias)
	}
	x, hidden := make([]float64, l.spec.Inputs), make([]float64, l.spec.Hidden)
	logits := make([]float64, l.spec.Classes)
	sum := 0.0
	for i, label := range l.set.Labels {
		for j, v := range l.set.Row(i) {
			x[j] = float64(v)
		}
		if l.spec.Hidden == 0 {
			first.forward(logits, x)
		} else {
			first.forward(hidden, x)
			for j, v := range hidden {
				hidden[j] = tanh(v)
			}
			second.forward(logits, hidden)
		}
		sum += crossEntropy(logits, label)
	}
	return sum / float64(len(l.set.Labels))
}

// crossEntropy returns the loss of logits at a label.
func crossEntropy(logits []float64, label uint8) float64 {
	top := logits[0]
	for _, v := range logits {
		top = max(top, v)
	}
	total := 0.0
	for _, v := range logits {
		total += exp(v - top)
	}
	return top - logits[label] + log(total)
}

// lanes is the number of outputs whose sums forward holds in registers: 10 of them spill on amd64.
const lanes = 5

// affine is a layer. Its weights are those of lanes outputs by input, so that one input's weights are
// neighbours; the last lanes are filled up with 0.
type affine struct {
	weights [][][lanes]float64 // [out/lanes][in][out%lanes]
	bias    []float64          // nil without
	size    int                // of the layer's parameters
}

// layer takes the layer at the start of parameters, which hold weights [out][in] and then biases.
func layer(parameters []float64, in, out int, noBias bool) affine {
	l := affine{weights: make([][][lanes]float64, (out+lanes-1)/lanes), size: in * out}
	for k := range l.weights {
		l.weights[k] = make([][lanes]float64, in)
	}
	for c := range out {
		for j := range in {
			l.weights[c/lanes][j][c%lanes] = parameters[c*in+j]
		}
	}
	if !noBias {
		l.bias, l.size = parameters[in*out:(in+1)*out], (in+1)*out
	}
	return l
}

// forward sets dst[c] = sum over j of W[c][j] x[j], in the order of j, plus b[c], whatever the lanes:
// each output has a sum of its own.
func (l affine) forward(dst, x []float64) {
	for k, weights := range l.weights {
		var s0, s1, s2, s3, s4 float64
		weights = weights[:len(x)]
		for j, v := range x {
			w := &weights[j]
			s0 += float64(w[0] * v)
			s1 += float64(w[1] * v)
			s2 += float64(w[2] * v)
			s3 += float64(w[3] * v)
			s4 += float64(w[4] * v)
		}
		sums := [lanes]float64{s0, s1, s2, s3, s4}
		copy(dst[k*lanes:], sums[:])
	}
	for c, b := range l.bias {
		dst[c] += b
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
