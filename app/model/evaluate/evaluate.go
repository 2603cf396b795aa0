// Package evaluate measures a chain's models on a test set, and draws them.
package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// ErrExternal means that the model is external. Only a trainer for that model can measure it, and
// no trainer is configured.
var ErrExternal = errors.New("the model is external, and no trainer is named that measures it")

// Evaluator measures models of one shape on one test set. It is not safe for concurrent use.
type Evaluator struct {
	model *model.Model
	set   mnist.Features
}

// New returns an Evaluator of the model m on a test set. It fails with ErrExternal for an external model. It also fails
// if m is not valid, if the set is empty, or if the set does not give m.Inputs inputs.
func New(test mnist.Set, m params.Model) (*Evaluator, error) {
	if m.Kind == params.ModelExternal {
		return nil, ErrExternal
	}
	if test.Len() == 0 {
		return nil, fmt.Errorf("the test set is empty")
	}
	set, err := inputs.Features(test, nil, m, inputs.Keep{})
	if err != nil {
		return nil, fmt.Errorf("test set: %w", err)
	}
	return FromFeatures(set, m)
}

// FromFeatures returns an Evaluator of the model m on a test set that is already converted to model
// inputs. It fails if m is not valid, or if the number of inputs of an example is not m.Inputs.
func FromFeatures(set mnist.Features, m params.Model) (*Evaluator, error) {
	if set.Inputs != int(m.Inputs) {
		return nil, fmt.Errorf("%w: %d, the model takes %d", inputs.ErrInputs, set.Inputs, m.Inputs)
	}
	net, err := model.New(model.SpecOf(m))
	if err != nil {
		return nil, err
	}
	return &Evaluator{net, set}, nil
}

// OfProbabilities returns what Evaluate does of a model that is elsewhere, by the probability of each class that it
// gives to rows. There are labels, and all are classes.
func OfProbabilities(labels []uint8, chance []float64) (out model.Eval, err error) {
	classes := len(chance) / len(labels)
	net, err := model.New(model.Spec{Inputs: classes, Classes: classes, NoBias: true})
	if err != nil {
		return out, err
	}
	set := mnist.Features{Labels: labels, Inputs: classes, X: make([]float32, len(chance))}
	for i, p := range chance {
		set.X[i] = float32(math.Log(max(p, leastChance)))
	}
	same := make([]float64, classes*classes) // the softmax of the logarithms of probabilities are these
	for c := range classes {
		same[c*classes+c] = 1
	}
	return (&Evaluator{net, set}).Evaluate(same)
}

// leastChance stands for a probability of 0, whose logarithm is not finite.
const leastChance = 1e-30

// TableOf returns the table that a model is of, which an external one has in its configuration; nil for none.
func TableOf(m params.Model) *params.Table {
	var c struct{ Table *params.Table }
	if m.Table == nil && json.Unmarshal([]byte(m.Config), &c) == nil {
		return c.Table
	}
	return m.Table
}

// Evaluate returns loss and accuracy on the test set at the parameters, and the quality of a model of two
// classes. It fails if the number of parameters is not the model's.
func (e *Evaluator) Evaluate(parameters []float64) (model.Eval, error) {
	if len(parameters) != e.model.Dim() {
		return model.Eval{}, fmt.Errorf("%d parameters, the model has %d", len(parameters), e.model.Dim())
	}
	out := e.model.Evaluate(parameters, e.set.X, e.set.Labels)
	if e.model.Spec().Classes == 2 {
		out.Quality = e.quality(parameters)
	}
	return out, nil
}
