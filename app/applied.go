package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// Applied is what a round did to the model, by its parts.
type Applied struct {
	Participants []uint32           // included, ascending
	Vectors      []gradients.Vector // their gradients, in this order
	Delta        gradients.Fraction // that was applied
	// Coasted is the model after the round if Delta had been zero: momentum and weight decay alone.
	Coasted []float64
}

// Applied returns what the round of a block does to the model of the state before that block. The
// caller has executed the block on this state, or trusts the reason why it is valid: signatures are
// not verified here.
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
	out.Coasted, _ = update(s.Params.Training, s.Model, s.Velocity, still, s.Params.Grid.Step)
	return out, nil
}
