package experiment

import (
	"github.com/spdl/spdl/testnet/experiment/learn"
	"github.com/spdl/spdl/testnet/experiment/scheme"
)

// quickRounds are the rounds of a quick run.
const quickRounds = 20

// paper is a training of the paper's preset under a scheme, with a point a round.
func (o Options) paper(name string, n int) (learn.Spec, error) {
	s, err := scheme.Paper(name, n)
	if o.Quick {
		s.Params.Training.Rounds, s.Every = quickRounds, 5
	}
	return s, err
}

// private is a training under a rule with the noise of epsilon. The rounds of a
// quick run are fewer, and their noise is that of all rounds.
func (o Options) private(rule string, n int, epsilon float64) (learn.Spec, error) {
	s, err := scheme.Private(rule, n, epsilon)
	if o.Quick {
		s.Params.Training.Rounds = quickRounds
	}
	return s, err
}
