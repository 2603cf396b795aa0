package explorer

import (
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/evaluate"
)

// Evaluate measures a model's parameters.
type Evaluate func(m params.Model, parameters []float64) (accuracy, loss float64, err error)

// TestSet reads the test set for a chain's model.
type TestSet func(m params.Model) (mnist.Set, error)

// TestOf returns what reads the test set of data, as On takes it; of the embedded data for "".
func TestOf(path string) TestSet {
	return func(m params.Model) (mnist.Set, error) { return node.LoadTest(path, m) }
}

// On returns an Evaluate that measures on a test set, which it reads when it is first
// called. It is not safe for concurrent use.
func On(test TestSet) Evaluate {
	var of params.Model
	var evaluator *evaluate.Evaluator
	return func(m params.Model, parameters []float64) (accuracy, loss float64, err error) {
		if m.Kind == params.ModelExternal {
			return 0, 0, evaluate.ErrExternal
		}
		if evaluator == nil || !m.Equal(of) {
			set, err := test(m)
			if err != nil {
				return 0, 0, err
			}
			if evaluator, err = evaluate.New(set, m); err != nil {
				return 0, 0, err
			}
			of = m
		}
		measured, err := evaluator.Evaluate(parameters)
		return measured.Accuracy, measured.Loss, err
	}
}
