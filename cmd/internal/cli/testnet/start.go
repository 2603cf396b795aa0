package testnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/train"
)

func testnetStartCommand() *cobra.Command {
	o := &startOptions{}
	cmd := command.Service(command.New(&cobra.Command{
		Use:   "start",
		Short: "Run a localnet to the end of its training and report every round",
		Long: "Run a localnet to the end of its training and report every round: each node a process of its own, or with\n" +
			"--inprocess a goroutine. Everything is stopped at the end, on failure and on Ctrl-C. The homes are " +
			"temporary and\n" +
			"removed, unless --keep or --home is given. A net that `testnet init` made in --home is started as it " +
			"is, and one\n" +
			"that was stopped goes on. With --stay the nodes answer after the last round too, until Ctrl-C.\n\n" +
			"In a round's line, included counts its gradients, and missing names the participants without one, as it came " +
			"late or\nnot at all. For slow training steps --patience lets rounds wait longer. T_LGC, T_GE and T_BC are " +
			"the\nmilliseconds of computing a gradient, of exchanging the gradients, and of consensus.",
		Example: "  spdl-lab testnet start --stay --explorer\n  spdl-lab testnet start --validators 7 --rounds 20 -o json",
	}, o.start))
	o.declare(cmd)
	command.Flag(cmd, &o.inProcess, "inprocess", false, "run the nodes as goroutines of this process")
	command.Flag(cmd, &o.keep, "keep", false, "keep the homes")
	command.Flag(cmd, &o.stay, "stay", false, "keep the nodes running after the last round, until Ctrl-C")
	command.Flag(cmd, &o.fresh, "new", false, "with --home and --stay alone: make a net where there is none")
	command.Flag(cmd, &o.explorer, "explorer", false, "serve web pages about the net, as read from its first node, and "+
		"print their address")
	command.Flag(cmd, &o.noEval, "no-eval", false, "do not measure the test accuracy")
	return cmd
}

type startOptions struct {
	netOptions
	inProcess, keep, stay, explorer, noEval, fresh bool

	then func(context.Context, *testnet.Net) error // nil, or called at the end, while the nodes answer
}

func (o *startOptions) start(r *command.Run, _ []string) (err error) {
	ctx, stop := endings(r.Context)
	defer stop()
	defer func() {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = fmt.Errorf("interrupted (%s)", context.Cause(ctx).Error())
		}
	}()
	home, keep := r.Home, o.keep
	if !r.Named {
		if home, err = os.MkdirTemp("", "spdl-testnet-"); err != nil {
			return err
		}
		if !keep {
			defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
		}
	}
	n, err := o.net(r, home)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	warn(r, n)
	if keep {
		fmt.Fprintln(r.Err, "homes:", home)
	}
	report := &testnet.Reporter{Out: r.Out, JSON: r.JSON, Rounds: n.Genesis.Params.Training.Rounds,
		Delta: n.Genesis.Params.Privacy.Delta, TestChain: n.Genesis.Params.TestChain, Model: n.Genesis.Params.Model,
		Manifest: n.Manifest, Warn: r.Warn}
	if command.IsTerminal(r.Err) {
		report.Progress = r.Err
	}
	err = o.run(ctx, r, n, report)
	if errors.Is(err, syscall.EPIPE) {
		err = fmt.Errorf("stopped at round %d of %d: nobody reads the output any more", report.Count, report.Rounds)
	}
	return err
}

// endings returns a context that also ends when the terminal closes. Without it SIGHUP would end this
// process at once, and the homes with their keys would remain.
func endings(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) { // under nohup
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// net returns the net that a folder holds, or a new one.
func (o *startOptions) net(r *command.Run, home string) (*testnet.Net, error) {
	if !testnet.Made(home) {
		if r.Named && o.stay && !o.fresh && len(o.given()) == 0 {
			return nil, command.Usage(fmt.Errorf("%s holds no net, and --stay alone goes on with one: name the --data or the "+
				"--manifest of a new one, or add --new for one that trains MNIST", home))
		}
		m, err := o.manifest(r, home)
		if err = cmp.Or(err, o.perturbable(m)); err != nil {
			return nil, err
		}
		if len(m.Trainer) > 0 {
			fmt.Fprintln(r.Err, "trying the trainer, before the net is made:", command.Plain(strings.Join(m.Trainer, " ")))
		}
		end := command.Elapsed(r.Context, r.Err, "making the net")
		n, err := testnet.Init(m.Within(r.Context))
		end()
		if err == nil && r.Named && m.Data == "" && len(m.Trainer) == 0 {
			fmt.Fprintf(r.Err, "new net in %s: it trains the embedded MNIST, as no --data is named\n", r.HomeText)
		}
		return n, err
	}
	if shaping := o.given(); len(shaping) > 0 {
		return nil, command.Usage(fmt.Errorf("%s: for a new net only, and %s holds one already: leave it out, or name "+
			"another --home", strings.Join(shaping, ", "), home))
	}
	n, err := testnet.Open(home)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(n.Stopped(), o.perturbable(n.Manifest)); err != nil {
		return nil, err
	}
	if err := n.CheckTrainer(); err != nil { // no error: the running epoch may have another model
		r.Warn(err.Error())
	}
	return n, nil
}

// perturbable rejects --inprocess for a net with workers or perturbations, which need processes.
func (o *startOptions) perturbable(m testnet.Manifest) error {
	if o.inProcess && m.Workers > 0 {
		return command.Usage(fmt.Errorf("--inprocess with %d workers: they have processes of their own", m.Workers))
	}
	if o.inProcess && len(m.Perturb) > 0 {
		return command.Usage(errors.New("--inprocess with perturbations: a goroutine cannot be killed or paused"))
	}
	return nil
}

// stillness is the time without a closed round, beyond what rounds wait, after which start names the logs.
const stillness = 30 * time.Second

// localnet is a running net, of processes or in this process.
type localnet interface {
	Failed() <-chan error
	PeakRSS() int64
	Stop() error
}

// run starts the nodes, follows the rounds to the last and stops the nodes, with --stay when ctx ends.
func (o *startOptions) run(ctx context.Context, r *command.Run, n *testnet.Net, report *testnet.Reporter) error {
	e, err := n.Evaluator(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	var measure testnet.Evaluator
	if !o.noEval {
		measure = e
	}
	url, endPages, err := o.servePages(ctx, n, measure)
	if err != nil {
		return err
	}
	defer endPages()
	nodes, perturb, err := o.launch(n)
	if err != nil {
		return err
	}
	follow, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := stillness + n.Manifest.Patience
	var told atomic.Uint64 // rounds
	still := time.NewTicker(patience)
	defer still.Stop()
	go func() {
		for {
			select {
			case err := <-nodes.Failed():
				cancel(err)
				return
			case <-follow.Done():
				return
			case <-still.C:
				said, err := n.Standstill(follow, told.Load())
				if err != nil {
					cancel(err)
					return
				}
				fmt.Fprintf(r.Err, "no line for %v: %s%s doctor --home %s, or the nodes' logs, such as %s, say "+
					"more\n", patience, command.Plain(said), command.Program("spdl"), r.InText(n.Manifest.Home),
					r.InText(n.Nodes[0].LogFile()))
			}
		}
	}()
	if p, ok := nodes.(*testnet.Processes); ok {
		report.CPU = p.CPU
	}
	err = report.Begin(testnet.Running{ChainID: n.Manifest.ChainID, Nodes: n.Nodes, Explorer: url})
	if err == nil {
		err = testnet.Follow(follow, n, measure, func(r testnet.Round) error {
			still.Reset(patience)
			told.Add(1)
			if !r.Past {
				perturb(follow, r.Round)
			}
			return report.Round(r)
		})
	}
	still.Stop()
	switch {
	case err == nil:
		if err = report.End(nodes.PeakRSS()); err == nil {
			n.Settle(follow)
			err = o.look(follow, r, n, measure, report)
		}
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted (%s) when %d of %d rounds were closed", context.Cause(ctx).Error(), report.Count,
			report.Rounds)
		if r.Named && o.then == nil {
			err = fmt.Errorf("%w: %s testnet start --home %s goes on", err, command.Program("spdl-lab"), r.HomeText)
		}
	case follow.Err() != nil:
		err = context.Cause(follow)
	}
	return errors.Join(err, nodes.Stop())
}

// look prints the command that shows the net and, with --stay, reports the rounds of later epochs
// until ctx ends. It returns an error if a node ends before that, and none after Ctrl-C.
func (o *startOptions) look(ctx context.Context, r *command.Run, n *testnet.Net, measure testnet.Evaluator,
	report *testnet.Reporter) error {
	if o.then != nil {
		return o.then(ctx, n)
	}
	if !o.stay {
		switch {
		case r.JSON:
		case r.Named:
			fmt.Fprintf(r.Err, "to look at it again: %[1]s testnet start --home %[2]s --stay --explorer\n"+
				"all of it on one page: %[1]s report %[2]s\n", command.Program("spdl-lab"), r.HomeText)
		default:
			fmt.Fprintf(r.Err, "to look at such a net: %s testnet start --stay --explorer\n", command.Program("spdl-lab"))
		}
		return nil
	}
	if !r.JSON {
		fmt.Fprintf(r.Err, "the nodes answer until Ctrl-C: %s query status --watch --home %s\n", command.Program("spdl"),
			r.InText(n.Nodes[0].Home))
	}
	err := testnet.FollowOn(ctx, n, measure, report.Last, report.Round)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// launch starts the nodes and returns the function that starts the perturbations of a round.
func (o *startOptions) launch(n *testnet.Net) (localnet, func(context.Context, uint64), error) {
	if o.inProcess {
		if err := train.Collude(n); err != nil {
			return nil, nil, err
		}
		nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
		return nodes, func(context.Context, uint64) {}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	nodes, err := testnet.StartProcesses(n, binary)
	return nodes, nodes.Perturb, err
}
