package train

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/testnet/attack"
)

// Spec is one training. It holds everything on which the result depends.
type Spec struct {
	Params params.Params `json:"params"`
	Nodes  int           `json:"nodes"`
	// Byzantine is the number of attackers: participants 0 to Byzantine-1.
	Byzantine int    `json:"byzantine,omitempty"`
	Attack    string `json:"attack,omitempty"`
	// Shift makes every leader use all of the tolerance, against the rule's output.
	Shift bool `json:"shift,omitempty"`
	// Alpha is the parameter of a Dirichlet partition; 0 deals the data out evenly.
	Alpha float64 `json:"alpha,omitempty"`
	Seed  uint64  `json:"seed"`
	// Every is the number of rounds between two evaluations of the model. The model is always
	// evaluated after the last round; with 0, only then.
	Every uint64 `json:"every,omitempty"`
	// Float32 trains as the program of the paper's authors does without Krum and without a chain:
	// with the plain mean and the model in float32, neither of them bounded.
	Float32 bool `json:"float32,omitempty"`
	// Lone trains as the comparator of Theorem 2 does: each round applies the gradient of one
	// honest participant, drawn at random. The attackers, if any, have no say.
	Lone bool `json:"lone,omitempty"`
	// Shadow also measures ShadowColumns. The training then takes three times as long.
	Shadow bool `json:"shadow,omitempty"`
}

// Inputs returns the inputs of all examples of a set, in its order.
func (s Spec) Inputs(set mnist.Set) (mnist.Features, error) {
	return worker.Shard(set, nil, s.Params.Model, inputs.Keep{})
}

// Participants are the workers of a training, and the attackers among them.
type Participants struct {
	spec Spec

	mu       sync.Mutex // guards the fields below
	attack   attack.Attack
	random   *rand.Rand
	workers  []*worker.Trainer // by participant
	honest   []int
	round    uint64
	vectors  []gradients.Vector // of the round
	before   []gradients.Vector // of the previous round
	memory   attack.Memory
	rows     *rows   // of the attackers; nil with an external model
	loss     float64 // of the honest batches, in nats
	theorem2 sums    // over the rounds
}

// NewParticipants divides the training set among the participants and makes their workers.
func NewParticipants(spec Spec, train mnist.Set) (*Participants, error) {
	if spec.Alpha == 0 {
		return withParts(spec, train, Evenly(train, spec))
	}
	parts, err := mnist.PartitionDirichlet(train.Labels, mnist.Classes, spec.Nodes, spec.Alpha, spec.Seed)
	if err != nil {
		return nil, err
	}
	return withParts(spec, train, parts)
}

// withParts makes the workers of participants who have these examples of the training set.
func withParts(spec Spec, train mnist.Set, parts [][]int) (*Participants, error) {
	p, err := withoutWorkers(spec)
	if err != nil {
		return nil, err
	}
	poison, _ := p.attack.(attack.Poisoner)
	whole, err := spec.Inputs(train)
	if err != nil {
		return nil, err
	}
	p.rows = &rows{spec: spec, train: train, whole: whole, own: slices.Concat(parts[:spec.Byzantine]...)}
	for i, part := range parts {
		data := p.rows.pick(part)
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
	}
	return p, nil
}

// withoutWorkers makes the attackers, and says who is honest.
func withoutWorkers(spec Spec) (p *Participants, err error) {
	p = &Participants{spec: spec, random: rand.New(rand.NewPCG(spec.Seed, 0xa77ac4))}
	for i := spec.Byzantine; i < spec.Nodes; i++ {
		p.honest = append(p.honest, i)
	}
	if spec.Byzantine > 0 {
		p.attack, err = attack.Lookup(spec.Attack)
	}
	return p, err
}

// Evenly divides the examples equally. All examples of a group go to one participant.
func Evenly(train mnist.Set, spec Spec) [][]int {
	units := mnist.Units(train.Groups, train.Len())
	parts := mnist.PartitionIID(len(units), spec.Nodes, spec.Seed)
	for i, part := range parts {
		var rows []int
		for _, u := range part {
			rows = append(rows, units[u]...)
		}
		parts[i] = rows
	}
	return parts
}

// Open is the open round as the makers of its gradients see it.
type Open struct {
	Round uint64
	Seed  []byte
	Model []float64
}

// Vector returns a participant's gradient for the open round. The first call for a round makes all vectors. If rounds
// were skipped, the workers first make the vectors of those rounds at the open round's model. The noise is then the
// same as without the skip, and the honest gradients nearly the same. In a net of real nodes a node may be behind and
// ask again for a round that has closed elsewhere. It gets the same vectors as before, because another training step
// would change all later ones. Vectors of earlier rounds are not kept.
func (p *Participants) Vector(node int, o Open) gradients.Vector {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vectors != nil && o.Round < p.round {
		if p.before == nil || o.Round+1 < p.round {
			return gradients.Vector{}
		}
		return p.before[node]
	}
	if p.vectors == nil || p.round != o.Round {
		next := p.round + 1
		if p.vectors == nil {
			next = 0
		}
		p.before = p.vectors
		for ; next < o.Round; next++ {
			p.honestly(o.Model)
			p.before = nil
		}
		p.round, p.vectors = o.Round, p.honestly(o.Model)
		if p.attack != nil {
			p.answer(o)
		}
	}
	return p.vectors[node]
}

// honestly returns the gradients of the honest participants only.
func (p *Participants) honestly(x []float64) []gradients.Vector {
	vectors := make([]gradients.Vector, p.spec.Nodes)
	p.loss = 0
	for _, i := range p.honest {
		v, stats := p.workers[i].Step(x)
		vectors[i] = v
		p.loss += stats.Loss / float64(len(p.honest))
	}
	p.theorem2.add(p.loss, momentsOf(vectors[p.spec.Byzantine:], p.spec.Params.Grid.Step))
	return vectors
}

// answer makes the attackers' vectors after those of the honest participants. On a chain with
// commitments the attackers have to choose before they see the round's honest vectors, so they get
// those of the previous round. In the first round they imagine them, or of an external model send their own.
func (p *Participants) answer(o Open) {
	var own []gradients.Vector
	view := attack.View{
		N: p.spec.Nodes, F: p.spec.Byzantine, Round: o.Round, Grid: p.spec.Params.Grid.Lattice(),
		Rule: p.spec.Params.Rule.Name, Input: p.input(o), Rand: p.random, Memory: &p.memory,
		Model: o.Model, Slope: p.rows.slope,
		Own: func() []gradients.Vector {
			for i := 0; len(own) < p.spec.Byzantine; i++ {
				v, _ := p.workers[i].Step(o.Model)
				own = append(own, v)
			}
			return own
		},
		Imagined: func() []gradients.Vector { return p.imagined(o.Model) },
		Expected: func() []float64 { return p.rows.expected(o.Model) },
	}
	view.Admits, _ = attack.Admission(p.spec.Params, o.Round)
	view.Late = p.spec.Params.Election.CommitReveal
	switch {
	case !view.Late:
		view.Honest = p.vectors[p.spec.Byzantine:]
	case p.before == nil && p.rows == nil:
		copy(p.vectors, view.Own())
		return
	case p.before == nil:
		view.Honest = view.Imagined()
	default:
		view.Honest = p.before[p.spec.Byzantine:]
	}
	copy(p.vectors, p.attack.Craft(view))
}

// imagined returns vectors of workers that train, at x, on rows drawn from the attackers', as many as are honest.
func (p *Participants) imagined(x []float64) []gradients.Vector {
	vectors := make([]gradients.Vector, len(p.honest))
	for i := range vectors {
		part := make([]int, max(1, p.rows.train.Len()/p.spec.Nodes))
		for k := range part {
			part[k] = p.rows.own[p.random.IntN(len(p.rows.own))]
		}
		w, err := worker.NewTrainer(p.spec.Params, p.rows.pick(part), privacy.NewTestSource(p.random.Uint64()))
		if err != nil {
			panic(err) // NewParticipants has made workers of the same kind
		}
		vectors[i], _ = w.Step(x)
	}
	return vectors
}

// input returns the rule's input in the open round, without the vectors.
func (p *Participants) input(o Open) rules.Input {
	rule := p.spec.Params.Rule
	in := rules.Input{N: p.spec.Nodes, F: int(rule.Byzantine), Unsquared: rule.Unsquared, Seed: o.Seed}
	_, in.Floor = attack.Admission(p.spec.Params, o.Round)
	return in
}

// Regrid sets the grid step that follows from the noise. It is called after the noise has changed.
func Regrid(p *params.Params) { p.Grid.Step = worker.GridStep(p.Privacy) }
