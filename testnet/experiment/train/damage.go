package train

import (
	"math"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
)

// damage returns two kinds of damage to a model that its accuracy does not show, NaN before the last round. One is the
// share of the test images of other classes that the trigger moves to its class, the other is the max error of a
// class. A value is NaN if the test set has no such image.
func (s Spec) damage(round uint64, test mnist.Set, x []float64) ([]float64, error) {
	if round < s.Params.Training.Rounds {
		return []float64{math.NaN(), math.NaN()}, nil
	}
	plain, err := s.Inputs(test)
	if err != nil {
		return nil, err
	}
	triggered, err := s.Inputs(trigger(test))
	if err != nil {
		return nil, err
	}
	classes := make([][]int, test.Classes())
	var others []int
	for i, label := range test.Labels {
		classes[label] = append(classes[label], i)
		if label != attack.Target {
			others = append(others, i)
		}
	}
	backdoor, err := s.accuracy(triggered, others, x)
	worst := math.NaN()
	for _, class := range classes {
		if err != nil {
			return nil, err
		}
		var right float64
		right, err = s.accuracy(plain, class, x)
		worst = fmax(worst, 1-right)
	}
	return []float64{backdoor, worst}, err
}

// accuracy returns the accuracy of a model on some examples, NaN on none.
func (s Spec) accuracy(all mnist.Features, some []int, x []float64) (float64, error) {
	if len(some) == 0 {
		return math.NaN(), nil
	}
	inputs, labels := all.Batch(nil, nil, some)
	e, err := evaluate.FromFeatures(mnist.Features{X: inputs, Labels: labels, Inputs: all.Inputs}, s.Params.Model)
	if err != nil {
		return 0, err
	}
	measured, err := e.Evaluate(x)
	return measured.Accuracy, err
}
