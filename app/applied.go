package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// Applied holds what a round did to the model.
type Applied struct {
	Participants []uint32           // the included participants, ascending
	Vectors      []gradients.Vector // the decoded gradients of Participants, in the same order
	Delta        gradients.Fraction // the Delta that the model update used
	// Coasted is the model that the update would have made with Delta zero: only momentum and
	// weight decay change it. If gradients are sums, it is the model with which the epoch began.
	Coasted []float64
}

// Applied returns the change that the round of a block makes to the model of s. s is the state
// before that block, and round is the aggregate followed by its gradients. Applied does not verify
// signatures: the caller must have executed the block, or trust it. Applied fails if round does not
// begin with an aggregate, or if the gradients or Delta contradict the aggregate.
func (s *State) Applied(round []*tx.Tx) (Applied, error) {
	if len(round) == 0 || round[0].Aggregate == nil {
		return Applied{}, fmt.Errorf("%w: the block closes no round", ErrMismatch)
	}
	a := round[0].Aggregate
	out := Applied{Participants: participantsOf(a.Included)}
	for i, t := range round[1:] {
		if err := s.checkListed(i, a.Included[i], t); err != nil {
			return Applied{}, err
		}
		v, err := t.Vector(s.Grid().Width, len(s.Model))
		if err != nil {
			return Applied{}, fmt.Errorf("%w: %w", ErrPayload, err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	aggregated, err := s.aggregate(a.Included, out.Vectors)
	if err != nil {
		return Applied{}, err
	}
	if out.Delta, err = s.checkTolerance(a, aggregated.Delta); err != nil {
		return Applied{}, err
	}
	still := gradients.Fraction{Num: make([]int64, len(s.Model)), Den: 1}
	out.Coasted, _ = update(s.Params, s.Model, s.Velocity, still)
	return out, nil
}
