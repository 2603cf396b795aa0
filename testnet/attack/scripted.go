package attack

import (
	"context"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// Script returns the gradient that a node sends for the open round, or the zero Vector if the node sends nothing.
type Script func(worker.Task) gradients.Vector

// Scripted returns hooks that make a node send the gradient of a script instead of its worker's. So
// real nodes can run an Attack, which needs all honest gradients.
func Scripted(vector Script) node.Hooks {
	return node.Hooks{Chain: func(c worker.Chain, keys worker.Keys) (worker.Chain, error) {
		return scriptedChain{c, keys, vector}, nil
	}}
}

type scriptedChain struct {
	worker.Chain
	keys   worker.Keys
	vector Script
}

// Forge replaces the vector of a gradient and signs the result.
func (d scriptedChain) Forge(ctx context.Context, t *tx.Tx) (*tx.Tx, error) {
	task, err := d.Await(ctx, d.keys.Public(), nil)
	if err != nil {
		return nil, err
	}
	if task.Finished || task.Epoch != t.Gradient.Epoch || task.Round != t.Gradient.Round {
		return nil, nil // the round has closed since then
	}
	v := d.vector(*task)
	if v.Len() == 0 {
		return nil, nil
	}
	return replace(d.keys, task.ChainID, *t.Gradient, v)
}

// Sign signs with the participant's keys.
func (d scriptedChain) Sign(task *worker.Task, c *tx.Commit) (*tx.Tx, error) {
	return commitment(d.keys, task, c)
}

// commitment signs a commitment with its VRF proof.
func commitment(keys worker.Keys, task *worker.Task, c *tx.Commit) (*tx.Tx, error) {
	c.VrfProof = leader.Prove(keys.VRF, leader.Input(task.ChainID, task.Epoch, task.Round, task.Seed))
	return tx.Sign(task.ChainID, c, keys.Signing)
}

// replace returns a gradient with another vector, signed again.
func replace(keys worker.Keys, chainID string, g tx.Gradient, v gradients.Vector) (*tx.Tx, error) {
	g.Payload = v.Encode()
	return tx.Sign(chainID, &g, keys.Signing)
}
