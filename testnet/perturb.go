package testnet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spdl/spdl/internal/wait"
	"github.com/spdl/spdl/testnet/link"
)

// The actions of a Perturbation.
const (
	Kill       = "kill"       // SIGKILL, then started again
	Restart    = "restart"    // SIGTERM, then started again
	Pause      = "pause"      // SIGSTOP, then SIGCONT
	Disconnect = "disconnect" // its links are cut, then healed
	Slow       = "slow"       // its links are slow or lossy, then as before
	DiskFull   = "disk-full"  // all its file writes fail, then it is killed and started again
	Upgrade    = "upgrade"    // all nodes upgrade the chain
)

// actions maps each action to its implementation. Actions on links need a switch between the nodes.
var actions = map[string]struct {
	links bool
	do    func(*Processes, context.Context, Perturbation) error
}{
	Kill: {do: func(p *Processes, ctx context.Context, x Perturbation) error { return p.stopAndRestart(ctx, x, p.Kill) }},
	Restart: {do: func(p *Processes, ctx context.Context, x Perturbation) error {
		return p.stopAndRestart(ctx, x, p.Terminate)
	}},
	Pause:      {do: (*Processes).paused},
	Disconnect: {links: true, do: (*Processes).degradeLinks},
	Slow:       {links: true, do: (*Processes).degradeLinks},
	DiskFull:   {do: (*Processes).fillDisk},
	Upgrade:    {do: (*Processes).upgrade},
}

// The values of Perturbation.Way. A direction is seen from the perturbed node.
const (
	In  = "in"
	Out = "out"
)

// Perturbation is one fault in the life of a localnet of processes.
type Perturbation struct {
	// Node is the affected node.
	Node int `mapstructure:"node"`
	// The fault begins when After has passed since Round closed.
	Round uint64        `mapstructure:"round"`
	After time.Duration `mapstructure:"after"`
	// Action is one of the actions above.
	Action string `mapstructure:"action"`
	// For is how long the node is down, or how long the fault lasts; for DiskFull it is the length
	// of each of the two. For an upgrade it is how much later than the other nodes the node starts.
	For time.Duration `mapstructure:"for"`

	// Peers are the nodes at the other end of the links that Disconnect and Slow change. Default: all other nodes.
	Peers []int `mapstructure:"peers"`
	// Way is "in" for traffic to the node, "out" for traffic from it. Default: both.
	Way string `mapstructure:"way"`
	// Delay, Jitter, Loss and Rate are the effect of Slow on each way of a link, as in link.Rule.
	Delay  time.Duration `mapstructure:"delay"`
	Jitter time.Duration `mapstructure:"jitter"`
	Loss   float64       `mapstructure:"loss"`
	Rate   int           `mapstructure:"rate"`

	place string // in the manifest's file, for errors; "" if the perturbation is of no file

	// Binary is the path of the new version's program, for an upgrade.
	Binary string `mapstructure:"binary"`
	// Heights is the number of heights between the proposal of an upgrade and the upgrade. Default 60.
	Heights uint64 `mapstructure:"heights"`
	// Wrong is the path of a third version's program, which the node tries first. Default: none.
	Wrong string `mapstructure:"wrong"`
}

// rule returns the rule of the affected links during the perturbation.
func (x Perturbation) rule() link.Rule {
	return link.Rule{Cut: x.Action == Disconnect, Delay: x.Delay, Jitter: x.Jitter, Loss: x.Loss, Rate: x.Rate}
}

// validate returns an error if a perturbation is impossible in a net with that number of nodes.
func (x Perturbation) validate(nodes int) error {
	if x.Node < 0 || x.Node >= nodes {
		return fmt.Errorf("perturbation of node %d, want 0 to %d", x.Node, nodes-1)
	}
	if _, ok := actions[x.Action]; !ok {
		return fmt.Errorf("perturbation %q of node %d, want one of %s", x.Action, x.Node,
			strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	if (x.Action == Upgrade) != (x.Binary != "") || x.Action != Upgrade && (x.Wrong != "" || x.Heights != 0) {
		return fmt.Errorf("perturbation %q of node %d with binary %q, wrong %q and heights %d: an upgrade needs a binary, "+
			"and the others take none of them",
			x.Action, x.Node, x.Binary, x.Wrong, x.Heights)
	}
	if x.After < 0 || x.For < 0 {
		return fmt.Errorf("perturbation of node %d after %v for %v, want at least 0", x.Node, x.After, x.For)
	}
	return x.validateLinks(nodes)
}

// validateLinks checks the fields that only Disconnect and Slow use.
func (x Perturbation) validateLinks(nodes int) error {
	r := x.rule()
	r.Cut = false
	switch {
	case !actions[x.Action].links && (len(x.Peers) > 0 || x.Way != ""):
		return fmt.Errorf("perturbation %q of node %d has peers %v and way %q: only %q and %q have them", x.Action, x.Node,
			x.Peers, x.Way, Disconnect, Slow)
	case x.Action != Slow && r != (link.Rule{}):
		return fmt.Errorf("perturbation %q of node %d is slow or lossy: only %q is", x.Action, x.Node, Slow)
	case x.Action == Slow && r == (link.Rule{}):
		return fmt.Errorf("perturbation %q of node %d has no delay, jitter, loss or rate", x.Action, x.Node)
	case x.Way != "" && x.Way != In && x.Way != Out:
		return fmt.Errorf("way %q of a perturbation of node %d, want %q, %q or none", x.Way, x.Node, In, Out)
	}
	if k := slices.IndexFunc(x.Peers, func(k int) bool { return k < 0 || k >= nodes || k == x.Node }); k >= 0 {
		return fmt.Errorf("perturbation of node %d and its peer %d, want another node of 0 to %d", x.Node, x.Peers[k],
			nodes-1)
	}
	if err := r.Check(); err != nil {
		return fmt.Errorf("perturbation of node %d: %w", x.Node, err)
	}
	return nil
}

// linked reports whether zones or a perturbation change links.
func (m *Manifest) linked() bool {
	return len(m.Zones) > 1 || slices.ContainsFunc(m.Perturb, func(x Perturbation) bool { return actions[x.Action].links })
}

// Perturb starts the manifest's perturbations of a round that has closed. It returns at once;
// Failed delivers the errors. Two perturbations of one node, or of one link, must not overlap.
func (p *Processes) Perturb(ctx context.Context, closed uint64) {
	for _, x := range p.Net.Manifest.Perturb {
		if x.Round != closed {
			continue
		}
		go func() {
			if err := p.Apply(ctx, x); err != nil && ctx.Err() == nil {
				p.failed <- err
			}
		}()
	}
}

// Apply waits for the perturbation's After, applies the perturbation, and returns when it is over. A perturbation of
// links needs the switch, which exists only if the manifest lists such a perturbation.
func (p *Processes) Apply(ctx context.Context, x Perturbation) error {
	err := x.validate(len(p.Net.Nodes))
	if err == nil {
		err = wait.For(ctx, x.After)
	}
	if err == nil {
		err = actions[x.Action].do(p, ctx, x)
	}
	if err != nil {
		return fmt.Errorf("%s node %d: %w", x.Action, x.Node, err)
	}
	return nil
}

// stopAndRestart ends a node, waits and starts it again.
func (p *Processes) stopAndRestart(ctx context.Context, x Perturbation, end func(int) error) error {
	if err := end(x.Node); err != nil {
		return err
	}
	if err := wait.For(ctx, x.For); err != nil {
		return err
	}
	return p.Start(x.Node)
}

// paused stops a node with SIGSTOP for a time.
func (p *Processes) paused(ctx context.Context, x Perturbation) error {
	if err := p.Signal(x.Node, syscall.SIGSTOP); err != nil {
		return err
	}
	err := wait.For(ctx, x.For) // on cancellation Stop wakes the node
	if err == nil {
		err = p.Signal(x.Node, syscall.SIGCONT)
	}
	return err
}

// degradeLinks changes a node's links for a time.
func (p *Processes) degradeLinks(ctx context.Context, x Perturbation) error {
	p.disturb(x, func(int, int) link.Rule { return x.rule() })
	defer p.disturb(x, p.Net.Manifest.LinkRule)
	return wait.For(ctx, x.For)
}

// disturb sets the rules of the perturbation's links.
func (p *Processes) disturb(x Perturbation, rule func(from, to int) link.Rule) {
	for k := range p.Net.Nodes {
		if k == x.Node || len(x.Peers) > 0 && !slices.Contains(x.Peers, k) {
			continue
		}
		if x.Way != Out {
			p.links.Set(k, x.Node, rule(k, x.Node))
		}
		if x.Way != In {
			p.links.Set(x.Node, k, rule(x.Node, k))
		}
	}
}

// fillDisk makes all file writes of a node fail. The node may end because of that.
func (p *Processes) fillDisk(ctx context.Context, x Perturbation) error {
	if err := p.starve(x.Node); err != nil {
		return err
	}
	return p.stopAndRestart(ctx, x, func(i int) error {
		if err := wait.For(ctx, x.For); err != nil {
			return err
		}
		if err := p.Kill(i); err != nil && !p.child(i).ended() {
			return err
		}
		return nil
	})
}
