// Package testnet has the commands that make and run localnets.
package testnet

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/node"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/attack"
)

func Commands() *cobra.Command {
	return command.Group("testnet", "Make and run localnets", testnetInitCommand(), testnetStartCommand(), testnetNodeCommand())
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

func manifestFileFlag(cmd *cobra.Command) {
	cmd.Flags().String("manifest", "", "TOML file that describes the net and its perturbations; flags go before it")
}

// manifestOf is the manifest of the flags, the environment and, behind them,
// --manifest. What they say and no net can be made of is wrong use.
func manifestOf(cmd *cobra.Command, home string) (testnet.Manifest, error) {
	if err := command.ZeroFlags("validators", "rounds", "alpha", "seed", "neighbours"); err != nil {
		return testnet.Manifest{}, command.Usage(err)
	}
	m, err := readManifest(cmd, home)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return m, command.Usage(err)
	}
	return m, nil
}

// readManifest is the manifest before it is checked.
func readManifest(cmd *cobra.Command, home string) (testnet.Manifest, error) {
	file := viper.GetString("manifest")
	if file == "" {
		return manifest(home), nil
	}
	of, err := testnet.LoadManifest(file)
	if err != nil {
		return of, err
	}
	viper.SetConfigFile(file)
	viper.SetConfigType("toml")
	if err := viper.ReadInConfig(); err != nil {
		return of, err
	}
	m := manifest(home)
	m.Memory, m.Perturb, m.Attacks = of.Memory, of.Perturb, of.Attacks
	if of.ChainID != "" && !cmd.Flags().Changed("chain-id") {
		m.ChainID = of.ChainID // its key is chain_id
	}
	return m, nil
}

func testnetInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the homes node0 to node<N-1> of a localnet under --home",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := manifestOf(cmd, command.Home())
			if err != nil {
				return err
			}
			n, err := testnet.Init(m)
			if err != nil {
				return err
			}
			warn(n)
			return command.Show(cmd.OutOrStdout(), n.Nodes, func(w io.Writer) error {
				for _, node := range n.Nodes {
					fmt.Fprintf(w, "%s  rpc %s  p2p %s\n", node.Home, node.RPC, node.P2P)
				}
				return nil
			})
		},
	}
	manifestFlags(cmd)
	manifestFileFlag(cmd)
	return cmd
}

// testnetNodeCommand is `start` for a node of a localnet that misbehaves as the
// net's manifest says; the launcher calls it.
func testnetNodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "node",
		Short:  "Run the node of a home whose participant misbehaves by its localnet's manifest",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kind, err := testnet.Misbehaviour(command.Home())
			if err != nil {
				return command.Usage(err)
			}
			return node.Run(cmd.Context(), attack.Hooks(kind))
		},
	}
	cmd.Flags().String("log-level", "", "overrides log_level of config.toml")
	return cmd
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
