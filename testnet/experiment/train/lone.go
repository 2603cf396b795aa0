package train

import "math/rand/v2"

// A lone training is the comparator of Theorem 2: "if there is no Byzantine node, A~_t is updated by any correct
// gradient given by a random node". It has no chain, no momentum and no weight decay. Its batches are those of a
// training with the same seed and attackers, so both sum F over the same X_t.
type lone struct {
	*Participants
	x     []float64
	round uint64
	pick  *rand.Rand
}

func newLone(p *Participants) (training, error) {
	return &lone{Participants: p, x: make([]float64, p.spec.Params.Model.Dim()),
		pick: rand.New(rand.NewPCG(p.spec.Seed, 0x10e))}, nil
}

func (l *lone) open() Open { return Open{Round: l.round, Model: l.x} }

// next sets x to x - eta g for one honest g. There are no reputations and no counts.
func (l *lone) next(_, _ []float64) error {
	l.round++
	g := l.honestly(l.x)[l.honest[l.pick.IntN(len(l.honest))]]
	for j := range l.x {
		l.x[j] -= l.spec.Params.Training.LearningRate * float64(g.At(j)) * l.spec.Params.Grid.Step
	}
	return nil
}
