// Package score measures models on a test set. Unlike the testnet's evaluator it
// prepares a set once for all trainings of one model and one process.
package score

import (
	"fmt"
	"math"
	"sync"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/model"
)

// Test scores models of one shape. Not for concurrent use.
type Test struct {
	model *model.Model
	set   mnist.Features
}

type key struct {
	set  *uint8
	pool uint32
	mean float64
	size float64
}

var prepared sync.Map // key to func() (mnist.Features, error)

// New readies a test set for a chain's model.
func New(set mnist.Set, m params.Model) (*Test, error) {
	if set.Len() == 0 {
		return nil, fmt.Errorf("the test set is empty")
	}
	net, err := model.New(model.Spec{Inputs: int(m.Inputs), Hidden: int(m.Hidden), Classes: int(m.Classes)})
	if err != nil {
		return nil, err
	}
	once, _ := prepared.LoadOrStore(key{&set.Images[0], m.Pool, m.PixelMean, m.PixelScale},
		sync.OnceValues(func() (mnist.Features, error) { return set.Features(int(m.Pool), m.PixelMean, m.PixelScale) }))
	features, err := once.(func() (mnist.Features, error))()
	if err != nil {
		return nil, err
	}
	if features.Inputs != int(m.Inputs) {
		return nil, fmt.Errorf("test set has %d inputs, the model takes %d", features.Inputs, m.Inputs)
	}
	return &Test{net, features}, nil
}

// Score is the share of wrong predictions at the parameters, and the mean loss in
// nats. A model that overflows is wrong where it does, and its loss is NaN.
func (t *Test) Score(parameters []float64) (wrong, loss float64) {
	e := t.model.Evaluate(parameters, t.set.X, t.set.Labels)
	if e.NonFinite > 0 {
		e.Loss = math.NaN()
	}
	return 1 - e.Accuracy, e.Loss
}
