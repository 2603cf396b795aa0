package experiment

import (
	"cmp"

	"github.com/spdl/spdl/testnet/experiment/train"
)

// quickRounds is the number of rounds of a quick run of the paper's presets. The others have few anyway.
const quickRounds, quickFew = 20, 5

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

// A list collects the cells of an experiment, and the first error of their trainings.
type list struct {
	cells []Cell
	err   error
}

func (l *list) add(c Cell, err error) { l.cells, l.err = append(l.cells, c), cmp.Or(l.err, err) }

// private returns a training of the default preset under a rule, with the noise of epsilon.
func (o Options) private(rule string, n int, epsilon float64) (train.Spec, error) {
	rounds := o.Rounds
	if o.Quick {
		rounds = quickFew
	}
	return train.Private(rule, n, epsilon, rounds)
}
