package app

import "fmt"

// Neighbours lists the neighbours of one participant: the participants whose gradients the rule
// compared or mixed with the participant's own.
type Neighbours struct {
	Participant uint32   `json:"participant"`
	Of          []uint32 `json:"neighbours"` // ordered as in rules.Output; empty if the rule reports no neighbours
}

// Neighbours runs the rule again for the round that a block closes, and returns the neighbours of
// each input of the rule, in participant order. The receiver is the state before that block. The
// inputs are the gradients and, with rule.zeros, the zero vectors of absent participants. The
// round's Record has no neighbours, because a gradient may have N of them. Neighbours fails if the
// block closes no round.
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
