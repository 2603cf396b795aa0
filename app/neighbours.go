package app

import "fmt"

// Neighbours lists the participants with whose gradients the rule compared or mixed the gradient of
// one participant.
type Neighbours struct {
	Participant uint32   `json:"participant"`
	Of          []uint32 `json:"neighbours"` // ordered as in rules.Output; empty if the rule reports no neighbours
}

// Neighbours returns the neighbours of each input of the rule, in participant order, for the round
// that a block closes. The receiver is the state before that block. The inputs are the gradients
// and, with rule.zeros, the zero vectors of absent participants. Records leave the neighbours out,
// because a gradient may have N neighbours.
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
