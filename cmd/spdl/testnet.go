package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet"
)

func testnetCommand() *cobra.Command {
	return group("testnet", "Make and run localnets", testnetInitCommand(), testnetStartCommand(), testnetBenchCommand())
}

// manifestFlags are the flags that make a manifest.
func manifestFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int("validators", 4, "nodes, each a validator with its worker")
	f.Uint64("rounds", 0, "rounds (default: the preset's)")
	f.String("preset", preset.Names()[0], "parameters: "+strings.Join(preset.Names(), ", "))
	f.String("rule", "", "aggregation rule (default: the preset's)")
	f.String("data", "", "folder of IDX files in MNIST's format (default: the embedded MNIST)")
	f.String("partition", "iid", "how the training set is dealt out: iid or dirichlet")
	f.Float64("alpha", 1, "concentration of the dirichlet partition")
	f.Uint64("seed", 0, "fix genesis, partition and noise (NO PRIVACY; default: random)")
	f.Int("neighbours", 0, "persistent peers of a node (default: all up to 10 nodes, then 8, at least f+1)")
	f.String("chain-id", "spdl-localnet", "id of the chain")
}

func manifest(home string) testnet.Manifest {
	return testnet.Manifest{
		Validators: viper.GetInt("validators"), Rounds: viper.GetUint64("rounds"), Preset: viper.GetString("preset"),
		Rule: viper.GetString("rule"), Data: viper.GetString("data"), Partition: viper.GetString("partition"), Alpha: viper.GetFloat64("alpha"),
		Seed: viper.GetUint64("seed"), Neighbours: viper.GetInt("neighbours"), ChainID: viper.GetString("chain-id"), Home: home,
	}
}

func testnetInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the homes node0 to node<N-1> of a localnet under --home",
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := testnet.Init(manifest(homeDir()))
			if err != nil {
				return err
			}
			warn(n)
			return show(cmd.OutOrStdout(), n.Nodes, func(w io.Writer) error {
				for _, node := range n.Nodes {
					fmt.Fprintf(w, "%s  rpc %s  p2p %s\n", node.Home, node.RPC, node.P2P)
				}
				return nil
			})
		},
	}
	manifestFlags(cmd)
	return cmd
}

func testnetStartCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Run a localnet to the end of its training and report every round",
		Long: "Run a localnet to the end of its training and report every round: each node a process of its own, or with\n" +
			"--inprocess a goroutine. Everything is stopped at the end, on failure and on Ctrl-C. The homes are temporary and\n" +
			"removed, unless --keep or --home is given.",
		RunE: runTestnetStart,
	}
	manifestFlags(cmd)
	cmd.Flags().Bool("inprocess", false, "run the nodes as goroutines of this process")
	cmd.Flags().Bool("keep", false, "keep the homes")
	cmd.Flags().Bool("no-eval", false, "do not measure the test accuracy")
	return cmd
}

func runTestnetStart(cmd *cobra.Command, _ []string) (err error) {
	home, keep := homeDir(), viper.GetBool("keep")
	if !cmd.Flags().Changed("home") && os.Getenv("SPDL_HOME") == "" {
		if home, err = os.MkdirTemp("", "spdl-testnet-"); err != nil {
			return err
		}
		if !keep {
			defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
		}
	}
	n, err := testnet.Init(manifest(home))
	if err != nil {
		return err
	}
	warn(n)
	if keep {
		fmt.Fprintln(os.Stderr, "homes:", home)
	}
	var e *testnet.Evaluator
	if !viper.GetBool("no-eval") {
		data, err := node.LoadData(n.Manifest.Data)
		if err != nil {
			return err
		}
		if e, err = testnet.NewEvaluator(data.Test, n.Genesis.Params.Model); err != nil {
			return err
		}
	}
	report := &testnet.Reporter{Out: cmd.OutOrStdout(), JSON: asJSON(), Rounds: n.Genesis.Params.Training.Rounds}
	if isTerminal(os.Stderr) {
		report.Progress = os.Stderr
	}
	return run(cmd.Context(), n, e, report)
}

// run starts the nodes, follows the rounds to the last and stops the nodes.
func run(ctx context.Context, n *testnet.Net, e *testnet.Evaluator, report *testnet.Reporter) error {
	report.Begin()
	if viper.GetBool("inprocess") {
		nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
		if err != nil {
			return err
		}
		if err := testnet.Follow(ctx, n, e, report.Round); err != nil {
			return errors.Join(err, nodes.Stop())
		}
		return errors.Join(report.End(testnet.OwnPeakRSS()), nodes.Stop())
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	nodes, err := testnet.StartProcesses(n, binary)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-nodes.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := testnet.Follow(ctx, n, e, report.Round); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return errors.Join(err, nodes.Stop())
	}
	return errors.Join(report.End(nodes.PeakRSS()), nodes.Stop())
}

// warn prints the genesis warnings.
func warn(n *testnet.Net) {
	for _, w := range n.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	if n.Manifest.Seed != 0 {
		fmt.Fprintln(os.Stderr, "warning: TEST CHAIN ONLY: --seed makes the noise known, nothing is private")
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
