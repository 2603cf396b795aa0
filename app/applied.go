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

// Neighbours lists the neighbours of one participant: the participants whose gradients the rule
// compared or mixed with the participant's own.
type Neighbours struct {
	Participant uint32   `json:"participant"`
	Of          []uint32 `json:"neighbours"` // ordered as in rules.Output; empty if the rule reports no neighbours
}

// Neighbours runs the rule again for the round that a block closes, and returns the neighbours of each input of the
// rule, in participant order. The receiver is the state before that block. The inputs are the gradients and, with
// rule.zeros, the zero vectors of absent participants. The round's Record has no neighbours, because a gradient may
// have N of them. Neighbours fails if the block closes no round.
func (s *State) Neighbours(b Block) (list []Neighbours, err error) {
	round, _ := b.Round()
	if round == nil {
		return nil, fmt.Errorf("block %d closes no round", b.Height)
	}
	vectors, err := s.checkRound(b.Height, round)
	if err != nil {
		return nil, err
	}
	included := round[0].Aggregate.Included
	out, err := s.rule.Aggregate(s.input(included, vectors))
	if err != nil {
		return nil, err
	}
	inputs := s.inputs(included)
	for i, participant := range inputs {
		n := Neighbours{Participant: participant, Of: []uint32{}}
		if out.Neighbours != nil {
			for _, j := range out.Neighbours[i] {
				n.Of = append(n.Of, inputs[j])
			}
		}
		list = append(list, n)
	}
	return list, nil
}
