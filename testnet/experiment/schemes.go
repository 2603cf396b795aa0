package experiment

import (
	"github.com/spdl/spdl/testnet/experiment/train"
)

// quickRounds is the number of rounds of a quick run.
const quickRounds = 20

// paper returns a training of the paper's preset under a scheme, evaluated every round.
func (o Options) paper(name string, n int) (train.Spec, error) {
	s, err := train.Paper(name, n)
	return o.short(s), err
}

// short shortens a training of the paper's preset for a quick run.
func (o Options) short(s train.Spec) train.Spec {
	if o.Quick {
		s.Params.Training.Rounds, s.Every = quickRounds, 5
	}
	return s
}

// private returns a training under a rule with the noise of epsilon. A quick run has fewer rounds,
// with the noise of a full run.
func (o Options) private(rule string, n int, epsilon float64) (train.Spec, error) {
	s, err := train.Private(rule, n, epsilon)
	if o.Quick {
		s.Params.Training.Rounds = quickRounds
	}
	return s, err
}
