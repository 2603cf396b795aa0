// Package attack holds the ways in which participants misbehave in testnets and experiments.
//
// Hooks make a real node's participant misbehave: a hook stands between an honest worker and its chain. Only a
// testnet's manifest installs hooks. An Attack computes the gradients of all colluding attackers from what they see in
// a round. Simulations call it directly, and real nodes through Scripted if the honest participants' seeds are known.
//
// # How to add an attack on gradients
//
// Write a function that crafts the vectors, and add a line with its name and source to crafts in
// registry.go; `spdl-lab experiment attacks --attacks NAME` and the tests then know it. The function works in grid
// steps and rounds with View.vector or View.all; it keeps state from round to round in View.Memory. The
// experiments run the attack's aware variant, which shortens the vectors that the chain would
// reject as too long, and adds noise to those that it would reject as too short. The tests fail until
// shapes in craft_test.go has the attack's known property, and docs/RULES.md and docs/REPRODUCTION.md
// have the attack.
package attack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/spelling"
)

// behaviours maps the name of a behaviour to the function that wraps the chain of a participant with these keys.
var behaviours = map[string]func(worker.Chain, worker.Keys) worker.Chain{
	"silent":          func(c worker.Chain, _ worker.Keys) worker.Chain { return silent{c} },
	"seldom":          func(c worker.Chain, _ worker.Keys) worker.Chain { return seldom{c} },
	"mute-leader":     func(c worker.Chain, _ worker.Keys) worker.Chain { return muteLeader{c} },
	"wrong-aggregate": func(c worker.Chain, _ worker.Keys) worker.Chain { return wrongAggregate{c} },
	"equivocate":      func(c worker.Chain, k worker.Keys) worker.Chain { return equivocate{c, k} },
	"shift-delta":     func(c worker.Chain, k worker.Keys) worker.Chain { return shifted{c, k, 0} },
	"shift-beyond":    func(c worker.Chain, k worker.Keys) worker.Chain { return shifted{c, k, 1} },
	"withheld-output": func(c worker.Chain, _ worker.Keys) worker.Chain { return withheld{c} },
	"commit-withhold": func(c worker.Chain, _ worker.Keys) worker.Chain { return withholding{c} },
	"commit-late":     func(c worker.Chain, _ worker.Keys) worker.Chain { return committedLate{c, new(atomic.Uint64)} },
	"commit-twice":    func(c worker.Chain, k worker.Keys) worker.Chain { return committedTwice{c, k} },
}

func init() {
	for kind, twist := range gradientAttacks {
		behaviours[kind] = func(c worker.Chain, k worker.Keys) worker.Chain { return twisted{c, k, twist} }
	}
}

// Kinds returns the names of the behaviours, sorted.
func Kinds() []string {
	return slices.Sorted(maps.Keys(behaviours))
}

// Check returns an error if a name is neither a behaviour nor an attack on gradients.
func Check(kind string) error {
	if behaviours[kind] == nil && !Colludes(kind) {
		return fmt.Errorf("attack %q%s is not known: spdl-lab testnet start --help lists what a node does, and spdl-lab "+
			"experiment --help attacks on gradients", kind, spelling.Suggest(kind, append(Kinds(), Names()...)))
	}
	return nil
}

// Colludes reports whether a name is an attack on gradients and not a behaviour. Nodes run such an
// attack together, through Scripted.
func Colludes(kind string) bool {
	_, err := Lookup(kind)
	return err == nil && behaviours[kind] == nil
}

// Hooks returns the hooks that make a node's participant misbehave. For the kind "" the hooks change nothing.
func Hooks(kind string) node.Hooks {
	if kind == "" {
		return node.Hooks{}
	}
	return node.Hooks{GossipRefused: true, Chain: func(c worker.Chain, keys worker.Keys) (worker.Chain, error) {
		if err := Check(kind); err != nil {
			return nil, err
		}
		if Colludes(kind) {
			return nil, fmt.Errorf("attack %q is made together: see Scripted", kind)
		}
		return behaviours[kind](c, keys), nil
	}}
}

// silent is a participant that follows the chain and sends nothing.
type silent struct{ worker.Chain }

// Submit drops the transaction.
func (silent) Submit(context.Context, *tx.Tx) error { return nil }

// Lead waits until ctx ends, so the participant never leads.
func (silent) Lead(ctx context.Context, _ uint32) (*tx.Aggregate, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// muteLeader is a participant that sends its gradients and never leads.
type muteLeader struct{ worker.Chain }

// Lead waits until ctx ends, so the participant never leads.
func (m muteLeader) Lead(ctx context.Context, p uint32) (*tx.Aggregate, error) {
	return silent(m).Lead(ctx, p)
}

// wrongAggregate is a leader that sends a draft with the digest of another Delta.
type wrongAggregate struct{ worker.Chain }

// Lead returns a draft that every honest validator rejects.
func (w wrongAggregate) Lead(ctx context.Context, p uint32) (*tx.Aggregate, error) {
	draft, err := w.Chain.Lead(ctx, p)
	if err != nil {
		return nil, err
	}
	wrong := *draft
	if len(wrong.Delta) > 0 {
		wrong.Delta = append([]byte(nil), draft.Delta...)
		wrong.Delta[7] ^= 0x40 // the first coordinate, out of any tolerance
		return &wrong, nil
	}
	digest := sha256.Sum256(append([]byte("another Delta"), draft.Digest...))
	wrong.Digest = digest[:]
	return &wrong, nil
}

// equivocate is a participant that sends two gradients a round.
type equivocate struct {
	worker.Chain
	keys worker.Keys
}

// Submit sends a gradient, and then a second gradient that differs in one coordinate.
func (e equivocate) Submit(ctx context.Context, t *tx.Tx) error {
	err := e.Chain.Submit(ctx, t)
	if t.Gradient == nil || err != nil {
		return err
	}
	other := *t.Gradient
	other.Payload = append([]byte(nil), t.Gradient.Payload...)
	other.Payload[0] = -other.Payload[0] + 1
	return sendSecond(ctx, e.Chain, e.keys, &other)
}

// sendSecond signs and sends a transaction that contradicts another transaction of the participant.
func sendSecond(ctx context.Context, c worker.Chain, keys worker.Keys, body tx.Body) error {
	task, err := c.Await(ctx, keys.Public(), nil)
	if err != nil {
		return err
	}
	second, err := tx.Sign(task.ChainID, body, keys.Signing)
	if err != nil {
		return err
	}
	_ = c.Submit(ctx, second) // the node rejects it and reports the equivocation
	return nil
}
