package experiment

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/learn"
)

// Real is a training on real nodes, in one process, over loopback. The honest
// send what their own workers compute; the attackers know the seeds of the
// others, and so all that an attack wants to see.
type Real struct {
	learn.Spec
}

// realColumns are a closed round, by how many gradients, and in which block.
var realColumns = []string{"round", "included", "height"}

// patience is how many heights a round of a re-run may wait for gradients that
// are late. The simulation knows no late ones.
const patience = 1000

// run trains to the last round and returns the model's fingerprint.
func (r Real) run(ctx context.Context, data mnist.Data) (rows [][]float64, model string, err error) {
	if r.Params.Model.Hidden != 0 {
		return nil, "", fmt.Errorf("re-run of a model with %d hidden units, want none: its first weights come from the genesis seed", r.Params.Model.Hidden)
	}
	all, err := learn.NewParticipants(r.Spec, data.Train)
	if err != nil {
		return nil, "", err
	}
	m := testnet.Manifest{
		Validators: r.Nodes, Seed: r.Seed, Dictated: map[int]func(worker.Task) gradients.Vector{},
		Adjust: func(p *app.Params) {
			test := p.TestChain
			*p = r.Params
			p.TestChain, p.Election.QuorumBlocks = test, patience
		},
	}
	if r.Alpha > 0 {
		m.Partition, m.Alpha = "dirichlet", r.Alpha
	}
	for i := range r.Byzantine {
		m.Dictated[i] = func(t worker.Task) gradients.Vector {
			return all.Vector(i, learn.Open{Round: t.Round, Seed: t.Seed, Model: t.Model})
		}
	}
	err = onNodes(ctx, m, func(ctx context.Context, n *testnet.Net) error {
		if err := testnet.Follow(ctx, n, nil, func(x testnet.Round) error {
			rows = append(rows, []float64{float64(x.Round), float64(x.Included), float64(x.Height)})
			return nil
		}); err != nil {
			return err
		}
		c, err := client.New(n.Nodes[0].RPC)
		if err != nil {
			return err
		}
		state, err := c.Model(ctx)
		if err != nil {
			return err
		}
		x, err := app.DecodeParameters(state.Parameters)
		model = fingerprint(x)
		return err
	})
	return rows, model, err
}

// fingerprint tells whether two models are the same, bit for bit.
func fingerprint(model []float64) string {
	h := app.ModelHash(model)
	return hex.EncodeToString(h[:])
}
