package train

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/testnet/attack"
)

// A prototype trains as the program of the paper's authors does without Krum and without a chain:
// it applies the mean of all gradients to a model, both in float32, and accepts any number in a
// gradient. The honest gradients are those of the chain, so that only the arithmetic differs.
type prototype struct {
	*Participants
	x, v  []float32
	round uint64
}

func newPrototype(p *Participants) (training, error) {
	switch {
	case p.spec.Params.Rule.Name != "mean":
		return nil, fmt.Errorf("rule %q in float32, want \"mean\"", p.spec.Params.Rule.Name)
	case p.spec.Params.Model.Hidden != 0:
		return nil, fmt.Errorf("%d hidden units in float32, want none: softmax regression begins at zero",
			p.spec.Params.Model.Hidden)
	case p.attack != nil && p.spec.Attack != attack.Prototype:
		return nil, fmt.Errorf("attack %q in float32, want %q", p.spec.Attack, attack.Prototype)
	}
	d := p.spec.Params.Model.Dim()
	return &prototype{Participants: p, x: make([]float32, d), v: make([]float32, d)}, nil
}

func (p *prototype) open() Open {
	out := make([]float64, len(p.x))
	for j, x := range p.x {
		out[j] = float64(x)
	}
	return Open{Round: p.round, Model: out}
}

// next takes one step of the chain's optimizer. There are no reputations and no selection.
func (p *prototype) next(_, counts []float64) error {
	p.round++
	honest := p.honestly(p.open().Model)
	training, step := p.spec.Params.Training, p.spec.Params.Grid.Step
	for j := range p.x {
		var sum float32
		for i, v := range honest {
			if i < p.spec.Byzantine {
				sum += attack.PrototypeValue
			} else {
				sum += float32(float64(v.At(j)) * step)
			}
		}
		g := sum/float32(len(honest)) + float32(training.WeightDecay)*p.x[j]
		p.v[j] = float32(training.Momentum)*p.v[j] + g
		p.x[j] -= float32(training.LearningRate) * p.v[j]
	}
	counts[0], counts[1] = math.NaN(), math.NaN()
	return nil
}
