package train

import (
	"context"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet"
)

// NodesColumns names the columns of OnNodes, for a closed round: the number of included gradients, and the height.
var NodesColumns = []string{"round", "included", "height"}

// patience is the number of heights for which a round may wait for late gradients. The simulation
// has no late gradients.
const patience = 1000

// commitWait is how much longer a proposer waits for commitments, as attackers search for their vectors.
const commitWait = time.Minute

// OnNodes runs a training to its last round on real nodes. Honest participants send the gradients of their own workers.
// The attackers know the honest participants' seeds, and hence all that an attack needs.
func OnNodes(ctx context.Context, spec Spec, data mnist.Data) (rows [][]float64, model []float64, err error) {
	if spec.Params.Model.Hidden != 0 {
		return nil, nil, fmt.Errorf("re-run of a model with %d hidden units, want none: its first weights come from the "+
			"genesis seed", spec.Params.Model.Hidden)
	}
	m := testnet.Manifest{
		Validators: spec.Nodes, Seed: spec.Seed, Patience: commitWait,
		Adjust: func(p *params.Params) {
			test := p.TestChain
			*p = spec.Params
			p.TestChain, p.Election.QuorumBlocks = test, patience
		},
	}
	if spec.Alpha > 0 {
		m.Partition, m.Alpha = "dirichlet", spec.Alpha
	}
	if spec.Byzantine > 0 {
		all, err := NewParticipants(spec, data.Train)
		if err != nil {
			return nil, nil, err
		}
		m.Scripted = all.scripts()
	}
	for i := range m.Validators {
		if spec.Shift {
			m.Attacks = append(m.Attacks, testnet.Attack{Node: i, Kind: "shift-delta"})
		}
	}
	err = runNet(ctx, m, func(ctx context.Context, n *testnet.Net) error {
		if err := testnet.Follow(ctx, n, nil, func(x testnet.Round) error {
			rows = append(rows, []float64{float64(x.Round), float64(x.Included), float64(x.Height)})
			return nil
		}); err != nil {
			return err
		}
		c, err := client.New(n.Nodes[n.Manifest.HonestFirst()[0]].RPC) // which has closed the last round
		if err != nil {
			return err
		}
		state, err := c.Model(ctx)
		if err != nil {
			return err
		}
		model, err = app.DecodeParameters(state.Parameters)
		return err
	})
	return rows, model, err
}
