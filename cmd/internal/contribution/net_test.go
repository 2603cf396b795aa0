package contribution_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/testnet/sim"
)

// member is a participant of a simulated training: a seed of its batches and noise, its data, or
// another source of gradients.
type member struct {
	seed  uint64
	wrong float64                                                        // share of wrong labels
	send  func(s *app.State, sent [][]gradients.Vector) gradients.Vector // nil: a gradient of its data
}

// graded returns n honest members with wrong labels, from none for the first to most for the last.
func graded(n int, most float64) []member {
	all := make([]member, n)
	for i := range all {
		all[i] = member{seed: uint64(i), wrong: most * float64(i) / float64(n-1)}
	}
	return all
}

// training is a simulated chain of members. Each member has the same data, batches and noise
// with and without the others.
type training struct {
	chain *sim.Single
	sent  [][]gradients.Vector // by round and participant
}

// start deals the data out to as many parts as there are members, and starts the chain of all
// members but the ones left out.
func start(t testing.TB, p params.Params, data mnist.Data, members []member, seed uint64, without ...int) *training {
	t.Helper()
	whole, err := inputs.Features(data.Train, nil, p.Model, inputs.Keep{})
	require.NoError(t, err)
	parts := mnist.PartitionIID(data.Train.Len(), len(members), seed)
	out := map[int]bool{}
	for _, i := range without {
		out[i] = true
	}
	var trainers []*worker.Trainer
	var present []member
	for i, m := range members {
		if out[i] {
			continue
		}
		x, labels := whole.Batch(nil, nil, parts[i])
		random := rand.New(rand.NewPCG(seed, m.seed))
		for k := range labels {
			if random.Float64() < m.wrong {
				labels[k] = (labels[k] + 1 + uint8(random.IntN(mnist.Classes-1))) % mnist.Classes
			}
		}
		trainer, err := worker.NewTrainer(p, mnist.Features{X: x, Labels: labels, Inputs: whole.Inputs},
			privacy.NewTestSource(seed<<16+m.seed+1))
		require.NoError(t, err)
		trainers, present = append(trainers, trainer), append(present, m)
	}
	r := &training{}
	r.chain, err = sim.NewSingle(sim.Config{Nodes: len(present), Params: p, Seed: seed,
		Vector: func(node int, s *app.State) gradients.Vector {
			round := int(s.Progress.Round)
			if len(r.sent) == round {
				r.sent = append(r.sent, make([]gradients.Vector, len(present)))
			}
			var v gradients.Vector
			if send := present[node].send; send != nil {
				v = send(s, r.sent)
			} else {
				v, _ = trainers[node].Step(s.Model)
			}
			r.sent[round][node] = v
			return v
		}})
	require.NoError(t, err)
	return r
}

// end trains to the last round and returns the test loss. Each round may be nil.
func (r *training) end(t testing.TB, test mnist.Set, each func(sim.Closed)) float64 {
	t.Helper()
	for range r.chain.State().Params.Training.Rounds {
		closed, err := r.chain.Round()
		require.NoError(t, err)
		if each != nil {
			each(closed)
		}
	}
	s := r.chain.State()
	e, err := evaluate.New(test, s.Params.Model)
	require.NoError(t, err)
	measured, err := e.Evaluate(s.Model)
	require.NoError(t, err)
	return measured.Loss
}

// shortSteps returns the parameters for n members of a training of a hundred short steps, which values by rounds
// follow. docs/VERIFY.md says what long steps do to them.
func shortSteps(t testing.TB, n int) params.Params {
	t.Helper()
	p, err := preset.New("default", n)
	require.NoError(t, err)
	p.Training.Rounds, p.Training.LearningRate = 100, 15
	p.Privacy.NoiseMultiplier, p.Privacy.SamplingRate, p.Privacy.WorkerMomentum = 4.01, 0.3, 0.8
	p.Privacy.Batch, p.Privacy.Epsilon = uint32(18000/n), 4
	p.Grid.Step = worker.GridStep(p.Privacy)
	require.NoError(t, preset.Account(&p))
	return p
}
