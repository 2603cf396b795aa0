package train

import (
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
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
func Collude(n *testnet.Net) error {
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
	data, err := home.LoadData(m.Data, spec.Params.Model)
	if err != nil {
		return err
	}
	all, err := NewParticipants(spec, data.Train)
	if err == nil {
		n.Manifest.Scripted = all.scripts()
	}
	return err
}
