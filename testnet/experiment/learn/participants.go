package learn

import (
	"fmt"
	"math/rand/v2"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/testnet/attack"
)

// Spec is one training. It holds all that the result depends on.
type Spec struct {
	Params app.Params `json:"params"`
	Nodes  int        `json:"nodes"`
	// Byzantine is how many attack: participants 0 to Byzantine-1.
	Byzantine int    `json:"byzantine,omitempty"`
	Attack    string `json:"attack,omitempty"`
	// Alpha is that of a Dirichlet partition; 0 deals the data out evenly.
	Alpha float64 `json:"alpha,omitempty"`
	Seed  uint64  `json:"seed"`
	// Every is after how many rounds the model is evaluated, and always after the
	// last; 0 for then alone.
	Every uint64 `json:"every,omitempty"`
}

// Participants are the workers of a training, and the attackers among them. Not
// for concurrent use.
type Participants struct {
	spec    Spec
	attack  attack.Attack
	random  *rand.Rand
	workers []*worker.Trainer // by participant
	honest  []int
	round   uint64
	vectors []gradients.Vector // of the round
	loss    float64            // of the honest batches, in nats
}

// NewParticipants deals the training set out and readies the workers.
func NewParticipants(spec Spec, train mnist.Set) (*Participants, error) {
	p := &Participants{spec: spec, random: rand.New(rand.NewPCG(spec.Seed, 0xa77ac4))}
	var err error
	if spec.Byzantine > 0 {
		if p.attack, err = attack.Lookup(spec.Attack); err != nil {
			return nil, err
		}
	}
	parts := mnist.PartitionIID(train.Len(), spec.Nodes, spec.Seed)
	if spec.Alpha > 0 {
		if parts, err = mnist.PartitionDirichlet(train.Labels, mnist.Classes, spec.Nodes, spec.Alpha, spec.Seed); err != nil {
			return nil, err
		}
	}
	poison, _ := p.attack.(attack.Poisoner)
	for i, part := range parts {
		data, err := worker.Shard(train, enough(part, spec.Params.Privacy), spec.Params.Model)
		if err != nil {
			return nil, fmt.Errorf("participant %d: %w", i, err)
		}
		if i < spec.Byzantine && poison != nil {
			for k, label := range data.Labels { // a copy of the set's
				data.Labels[k] = poison.Poison(label, mnist.Classes)
			}
		}
		trainer, err := worker.NewTrainer(spec.Params, data, privacy.NewTestSource(spec.Seed<<16+uint64(i)+1))
		if err != nil {
			return nil, fmt.Errorf("participant %d: %w", i, err)
		}
		p.workers = append(p.workers, trainer)
		if i >= spec.Byzantine {
			p.honest = append(p.honest, i)
		}
	}
	return p, nil
}

// enough repeats the examples of a part that is too small for the chain's fixed
// batch, as a Dirichlet partition makes them; batches with repetition are what
// such a participant would draw.
func enough(part []int, p app.Privacy) []int {
	if p.SamplingRate > 0 {
		return part
	}
	own := len(part)
	for len(part) < int(p.Batch) {
		part = append(part, part[len(part)%own])
	}
	return part
}

// Vector is a participant's gradient for the open round of a state, for
// sim.Config. All are made when the first is asked for.
func (p *Participants) Vector(node int, s *app.State) gradients.Vector {
	if p.vectors == nil || p.round != s.Progress.Round {
		p.round, p.vectors = s.Progress.Round, p.make(s)
	}
	return p.vectors[node]
}

// make trains the honest and lets the attackers answer.
func (p *Participants) make(s *app.State) []gradients.Vector {
	vectors := make([]gradients.Vector, p.spec.Nodes)
	p.loss = 0
	for _, i := range p.honest {
		v, stats := p.workers[i].Step(s.Model)
		vectors[i] = v
		p.loss += stats.Loss / float64(len(p.honest))
	}
	if p.attack == nil {
		return vectors
	}
	var own []gradients.Vector
	view := attack.View{
		N: p.spec.Nodes, F: p.spec.Byzantine, Round: s.Progress.Round, Honest: vectors[p.spec.Byzantine:], Grid: s.Grid(),
		Rule: p.spec.Params.Rule.Name, Seed: s.Progress.Seed, Rand: p.random,
		Own: func() []gradients.Vector {
			for i := 0; len(own) < p.spec.Byzantine; i++ {
				v, _ := p.workers[i].Step(s.Model)
				own = append(own, v)
			}
			return own
		},
	}
	view.Admits, view.Floor = attack.Admission(p.spec.Params, s.Progress.Round)
	copy(vectors, p.attack.Craft(view))
	return vectors
}
