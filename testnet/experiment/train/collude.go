package train

import (
	"context"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/attack"
)

// scripts returns the attackers' scripts, by node.
func (p *Participants) scripts() map[int]attack.Script {
	all := map[int]attack.Script{}
	for i := range p.spec.Byzantine {
		all[i] = func(t worker.Task) gradients.Vector {
			return p.Vector(i, Open{Round: t.Round, Seed: t.Seed, Model: t.Model})
		}
	}
	return all
}

// Collude gives the colluders of a net's manifest, if there are any, what an attack on gradients
// needs. The seeds of the honest participants are known, and so are their gradients: the colluders
// train as all participants, round by round.
func Collude(n *testnet.Net) (err error) {
	kind, byzantine := n.Manifest.Colluders()
	if kind == "" {
		return nil
	}
	m := n.Manifest
	spec := Spec{Params: n.Genesis.Params, Nodes: m.Validators + m.Workers, Byzantine: byzantine, Attack: kind,
		Seed: m.Seed}
	if m.Partition == home.PartitionDirichlet {
		spec.Alpha = m.Alpha
	}
	var all *Participants
	var data mnist.Data
	if len(m.Trainer) > 0 {
		all, err = withTrainers(spec, n)
	} else if data, err = home.LoadData(m.Data, spec.Params.Model); err == nil {
		all, err = NewParticipants(spec, data.Train)
	}
	if err == nil {
		n.Manifest.Scripted = all.scripts()
	}
	return err
}

// withTrainers makes the workers of an external model: the colluders start the trainer of each participant once more.
func withTrainers(spec Spec, n *testnet.Net) (*Participants, error) {
	p, err := withoutWorkers(spec)
	for i := 0; err == nil && i < spec.Nodes; i++ {
		var w *worker.Trainer
		if c, a, failed := home.Load(n.Nodes[i].Home); failed != nil {
			err = failed
		} else if program, failed := trainer.Start(context.Background(), home.TrainerOf(c, a.Worker, nil), spec.Params.Model,
			spec.Params.Privacy); failed != nil {
			err = failed
		} else if w, err = worker.NewExternal(spec.Params, program, privacy.NewTestSource(a.Worker.TestSeed)); err == nil {
			p.workers = append(p.workers, w)
		}
	}
	return p, err
}
