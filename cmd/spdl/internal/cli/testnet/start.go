package testnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/mnist/evaluate"
	"github.com/spdl/spdl/testnet"
)

func testnetStartCommand() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "start",
		Short: "Run a localnet to the end of its training and report every round",
		Long: "Run a localnet to the end of its training and report every round: each node a process of its own, or with\n" +
			"--inprocess a goroutine. Everything is stopped at the end, on failure and on Ctrl-C. The homes are temporary and\n" +
			"removed, unless --keep or --home is given. A net that `testnet init` made in --home is started as it is, and one\n" +
			"that was stopped goes on.",
	}, runStart)
	manifestFlags(cmd)
	cmd.Flags().Bool("inprocess", false, "run the nodes as goroutines of this process")
	cmd.Flags().Bool("keep", false, "keep the homes")
	cmd.Flags().Bool("no-eval", false, "do not measure the test accuracy")
	return cmd
}

type startOptions struct {
	manifestOptions `mapstructure:",squash"`
	InProcess       bool `mapstructure:"inprocess"`
	Keep            bool `mapstructure:"keep"`
	NoEval          bool `mapstructure:"no-eval"`
}

func runStart(r *command.Run, o *startOptions, _ []string) (err error) {
	home, keep := r.Home, o.Keep
	if !r.Named {
		if home, err = os.MkdirTemp("", "spdl-testnet-"); err != nil {
			return err
		}
		if !keep {
			defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
		}
	}
	n, err := o.net(home)
	if err != nil {
		return err
	}
	warn(r, n)
	if keep {
		fmt.Fprintln(r.Err, "homes:", home)
	}
	e, err := o.evaluator(n)
	if err != nil {
		return err
	}
	report := &testnet.Reporter{Out: r.Out, JSON: r.JSON, Rounds: n.Genesis.Params.Training.Rounds, Delta: n.Genesis.Params.Privacy.Delta, TestChain: n.Genesis.Params.TestChain}
	if command.IsTerminal(r.Err) {
		report.Progress = r.Err
	}
	return o.run(r.Context, n, e, report)
}

// net returns the net that a folder holds, or a new one.
func (o *startOptions) net(home string) (*testnet.Net, error) {
	if !testnet.Made(home) {
		m, err := o.manifest(home)
		if err != nil {
			return nil, err
		}
		if err := o.perturbable(m); err != nil {
			return nil, err
		}
		return testnet.Init(m)
	}
	if shaping := o.given(); len(shaping) > 0 {
		return nil, command.Usage(fmt.Errorf("%s: for a new net only, and %s holds one already: leave it out, or name another --home", strings.Join(shaping, ", "), home))
	}
	n, err := testnet.Open(home)
	if err != nil {
		return nil, err
	}
	return n, o.perturbable(n.Manifest)
}

// perturbable refuses perturbations of nodes that are not processes.
func (o *startOptions) perturbable(m testnet.Manifest) error {
	if o.InProcess && len(m.Perturb) > 0 {
		return command.Usage(errors.New("--inprocess with perturbations: a goroutine cannot be killed or paused"))
	}
	return nil
}

// evaluator returns the evaluator of models, nil with --no-eval.
func (o *startOptions) evaluator(n *testnet.Net) (*evaluate.Evaluator, error) {
	if o.NoEval {
		return nil, nil
	}
	data, err := node.LoadData(n.Manifest.Data)
	if err != nil {
		return nil, err
	}
	return evaluate.New(data.Test, n.Genesis.Params.Model)
}

// localnet is a running net, of processes or in this process.
type localnet interface {
	Failed() <-chan error
	PeakRSS() int64
	Stop() error
}

// run starts the nodes, follows the rounds to the last and stops the nodes.
func (o *startOptions) run(ctx context.Context, n *testnet.Net, e *evaluate.Evaluator, report *testnet.Reporter) error {
	report.Begin()
	nodes, perturb, err := o.launch(n)
	if err != nil {
		return err
	}
	follow, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-nodes.Failed():
			cancel(err)
		case <-follow.Done():
		}
	}()
	err = testnet.Follow(follow, n, e, func(r testnet.Round) error {
		if !r.Past {
			perturb(follow, r.Round)
		}
		return report.Round(r)
	})
	switch {
	case err == nil:
		err = report.End(nodes.PeakRSS())
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted before round %d of %d", report.Count(), report.Rounds)
	case follow.Err() != nil:
		err = context.Cause(follow)
	}
	return errors.Join(err, nodes.Stop())
}

// launch starts the nodes and returns the function that sets off the perturbations of a round.
func (o *startOptions) launch(n *testnet.Net) (localnet, func(context.Context, uint64), error) {
	if o.InProcess {
		nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
		return nodes, func(context.Context, uint64) {}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	nodes, err := testnet.StartProcesses(n, binary)
	if err != nil {
		return nil, nil, err
	}
	return nodes, nodes.Perturb, nil
}
