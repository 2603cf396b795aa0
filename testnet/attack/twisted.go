package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// gradientAttacks maps a name to an attack that a node can make alone, because it is a function of the node's own
// gradient. So the node sends the same bytes again when its worker sends the gradient again.
var gradientAttacks = map[string]func(gradients.Vector) gradients.Vector{
	"constant":  func(g gradients.Vector) gradients.Vector { return filled(g, g.Width().Max()) },
	"zero":      func(g gradients.Vector) gradients.Vector { return filled(g, 0) },
	"sign-flip": negated,
	// noise-free sends one step against the slope in every coordinate. This vector is far shorter
	// than the noise, and closer to every gradient than the other gradients are to each other.
	"noise-free": func(g gradients.Vector) gradients.Vector {
		out := filled(g, 1)
		for j := range out.Len() {
			if g.At(j) > 0 {
				out.Set(j, -1)
			}
		}
		return out
	},
}

// Twist returns what a participant of a behaviour sends in place of its own vector, the zero Vector if it sends
// nothing. Behaviours that are no matter of gradients change nothing.
func Twist(kind string, own gradients.Vector) gradients.Vector {
	if kind == "silent" {
		return gradients.Vector{}
	}
	if twist := gradientAttacks[kind]; twist != nil && own.Len() > 0 {
		return twist(own)
	}
	return own
}

func filled(g gradients.Vector, q int64) gradients.Vector {
	out := gradients.NewVector(g.Width(), g.Len())
	for j := range out.Len() {
		out.Set(j, q)
	}
	return out
}

// twisted is a participant that sends a changed gradient in place of its worker's gradient.
type twisted struct {
	worker.Chain
	keys  worker.Keys
	twist func(gradients.Vector) gradients.Vector
}

// Forge replaces the vector of a gradient and signs the result.
func (a twisted) Forge(ctx context.Context, t *tx.Tx) (*tx.Tx, error) {
	task, err := a.Await(ctx, a.keys.Public(), nil)
	if err != nil {
		return nil, err
	}
	own, err := gradients.Decode(task.Params.Grid.Lattice().Width, task.Params.Model.Dim(), t.Gradient.Payload)
	if err != nil {
		return nil, err
	}
	return replace(a.keys, task.ChainID, *t.Gradient, a.twist(own))
}

// Sign signs with the participant's keys.
func (a twisted) Sign(task *worker.Task, c *tx.Commit) (*tx.Tx, error) {
	return commitment(a.keys, task, c)
}
