package explorer

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/model"
)

// Evaluate measures a model's parameters.
type Evaluate func(m params.Model, parameters []float64) (accuracy, loss float64, err error)

// On measures on a test set. It is read when it is first needed. Not safe for
// concurrent use.
func On(test func() (mnist.Set, error)) Evaluate {
	var of params.Model
	var net *model.Model
	var features mnist.Features
	return func(m params.Model, parameters []float64) (accuracy, loss float64, err error) {
		if net == nil || m != of {
			set, err := test()
			if err != nil {
				return 0, 0, err
			}
			if features, err = set.Features(int(m.Pool), m.PixelMean, m.PixelScale); err != nil {
				return 0, 0, err
			}
			if features.Inputs != int(m.Inputs) {
				return 0, 0, fmt.Errorf("test set has %d inputs, the model takes %d", features.Inputs, m.Inputs)
			}
			if net, err = model.New(model.Spec{Inputs: int(m.Inputs), Hidden: int(m.Hidden), Classes: int(m.Classes)}); err != nil {
				return 0, 0, err
			}
			of = m
		}
		if len(parameters) != net.Dim() {
			return 0, 0, fmt.Errorf("%d parameters, the model has %d", len(parameters), net.Dim())
		}
		e := net.Evaluate(parameters, features.X, features.Labels)
		return e.Accuracy, e.Loss, nil
	}
}
