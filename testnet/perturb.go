package testnet

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// The actions of a Perturbation.
const (
	Kill    = "kill"    // SIGKILL, then started again
	Restart = "restart" // SIGTERM, then started again
	Pause   = "pause"   // SIGSTOP, then SIGCONT
)

// Perturbation is one fault in the life of a localnet of processes.
type Perturbation struct {
	// Node is the node that it strikes.
	Node int `mapstructure:"node"`
	// The fault begins After after Round has closed.
	Round uint64        `mapstructure:"round"`
	After time.Duration `mapstructure:"after"`
	// Action is "kill", "restart" or "pause".
	Action string `mapstructure:"action"`
	// For is how long the node then stays away.
	For time.Duration `mapstructure:"for"`
}

func (x Perturbation) validate(nodes int) error {
	switch {
	case x.Node < 0 || x.Node >= nodes:
		return fmt.Errorf("perturbation of node %d, want 0 to %d", x.Node, nodes-1)
	case x.Action != Kill && x.Action != Restart && x.Action != Pause:
		return fmt.Errorf("perturbation %q of node %d, want %q, %q or %q", x.Action, x.Node, Kill, Restart, Pause)
	case x.After < 0 || x.For < 0:
		return fmt.Errorf("perturbation of node %d after %v for %v, want at least 0", x.Node, x.After, x.For)
	}
	return nil
}

// Perturb starts the manifest's perturbations of a round that has closed. It returns at once;
// Failed delivers the errors. Two perturbations of one node must not overlap.
func (p *Processes) Perturb(ctx context.Context, closed uint64) {
	for _, x := range p.Net.Manifest.Perturb {
		if x.Round != closed {
			continue
		}
		go func() {
			if err := p.strike(ctx, x); err != nil && ctx.Err() == nil {
				p.failed <- fmt.Errorf("%s node %d: %w", x.Action, x.Node, err)
			}
		}()
	}
}

func (p *Processes) strike(ctx context.Context, x Perturbation) error {
	if err := pause(ctx, x.After); err != nil {
		return err
	}
	if x.Action == Pause {
		if err := p.Signal(x.Node, syscall.SIGSTOP); err != nil {
			return err
		}
		err := pause(ctx, x.For) // on cancellation Stop wakes the node
		if err == nil {
			err = p.Signal(x.Node, syscall.SIGCONT)
		}
		return err
	}
	end := p.Kill
	if x.Action == Restart {
		end = p.Terminate
	}
	if err := end(x.Node); err != nil {
		return err
	}
	if err := pause(ctx, x.For); err != nil {
		return err
	}
	return p.Start(x.Node)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
