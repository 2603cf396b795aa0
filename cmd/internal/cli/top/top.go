// Package top watches a node.
package top

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Command returns the command that shows a running node at a glance.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "top",
		Short: "Watch a node: progress, accuracy, who is in trouble",
		Long: `Watch a running node until q or Ctrl-C. It shows first whether the net and this node work, whether the model
learns, how long the training takes and who is in trouble; then the last round, and how each participant fared, those
with trouble first: !! has committed an offence or looks like an attacker, ! fails to lead or to send gradients.

At a terminal s orders by number, the arrows, PgUp and PgDn scroll, and ? explains keys and columns. The newest model
is measured beside, as the explorer does it: on the data or by the trainer of --home, --data or --trainer. Where the
output is no terminal each view follows the last one. With -o json it prints one line a look, and measures nothing.`,
		Example: "  spdl top --home ./net/node0\n  spdl top --node tcp://127.0.0.1:26657 --once\n  spdl top --once -o json",
	}, o.run)
	command.NodeFlag(cmd, &o.node)
	o.models.Flags(cmd)
	command.Flag(cmd, &o.noEval, "no-eval", false, "do not measure the test accuracy")
	command.Flag(cmd, &o.once, "once", false, "show it once and end")
	command.Flag(cmd, &o.interval, "interval", time.Second, "time between two looks")
	return cmd
}

type options struct {
	node         string
	models       command.Models
	noEval, once bool
	interval     time.Duration
}

// view is a Glance with the values that top computes for the screen.
type view struct {
	*Glance
	Score             score
	Pace              time.Duration // between two rounds, the median of the last ones; 0 if unknown
	Accuracy, Epsilon trend         // since top began
}

func (o *options) run(r *command.Run, _ []string) error {
	c, err := r.Client(o.node)
	if err != nil {
		return err
	}
	if o.interval < 100*time.Millisecond {
		return command.Usage(fmt.Errorf("--interval is %v, want at least 100ms", o.interval))
	}
	m := &measurer{client: c}
	if !o.noEval && !r.JSON {
		e, err := r.Evaluator(o.node, o.models)
		if err != nil {
			return err
		}
		defer e.Close()
		m.evaluator = e
	}
	g, err := look(r.Context, c, nil)
	if err != nil {
		return err
	}
	if o.once {
		return r.Show(g, func(w io.Writer) error {
			v := &view{Glance: g, Score: m.await(r.Context, g), Pace: (&pace{client: c}).of(r.Context, g.Last)}
			return draw(w, v, &screen{width: command.Width(r.Out)})
		})
	}
	if r.JSON {
		return lines(r, c, g, o.interval)
	}
	return watch(r.Context, r.Out, c, m, g, o.interval)
}

// lines prints a line of JSON after each look at the node.
func lines(r *command.Run, c *client.Client, g *Glance, interval time.Duration) error {
	for {
		if err := json.NewEncoder(r.Out).Encode(g); err != nil {
			return err
		}
		select {
		case <-r.Context.Done():
			return nil
		case <-time.After(interval):
		}
		if g = again(r.Context, c, g); r.Context.Err() != nil {
			return nil
		}
	}
}

// watch draws the newest view until ctx ends or a key ends top. It draws after each look at the
// node, each key and each change of the terminal's size.
func watch(ctx context.Context, w io.Writer, c *client.Client, m *measurer, g *Glance, interval time.Duration) error {
	s, err := open(w)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views := make(chan *view)
	go deliver(ctx, views, c, m, g, interval)
	v, changed := <-views, true
	for {
		if changed {
			if err := draw(w, v, s); err != nil {
				return err
			}
		}
		changed = true
		select {
		case <-ctx.Done():
			return nil
		case v = <-views:
		case key := <-s.keys:
			if s.press(key) {
				return nil
			}
		case <-s.look():
			changed = s.measure()
		}
	}
}

// deliver sends a view of the first Glance, and one after each further look at the node, until ctx
// ends.
func deliver(ctx context.Context, views chan<- *view, c *client.Client, m *measurer, g *Glance,
	interval time.Duration) {
	var accuracy, epsilon trend
	rounds := &pace{client: c}
	for took, of := time.Duration(0), uint64(0); ; g = again(ctx, c, g) {
		if g.Last != nil && g.Last.Height != of {
			took, of = rounds.of(ctx, g.Last), g.Last.Height
		}
		v := &view{Glance: g, Score: m.see(ctx, g), Pace: took}
		if g.Last != nil {
			epsilon = epsilon.add(g.Last.Round, g.Status.Epsilon)
		}
		accuracy = accuracy.add(v.Score.Round, v.Score.Accuracy)
		v.Accuracy, v.Epsilon = accuracy, epsilon
		select {
		case <-ctx.Done():
			return
		case views <- v:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// again returns a new Glance. If the node does not answer, it returns the old one with the error,
// because the node may answer later.
func again(ctx context.Context, c *client.Client, g *Glance) *Glance {
	now, err := look(ctx, c, g)
	if err == nil {
		return now
	}
	old := *g
	old.Unreachable = err.Error()
	return &old
}
