// Package testnet has the commands that make and run localnets.
package testnet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	clinode "github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// Commands returns the group of commands.
func Commands() *cobra.Command {
	return command.Group("testnet", "Make and run localnets", testnetInitCommand(), testnetStartCommand(),
		testnetNodeCommand())
}

// netOptions are the flags that describe a net: fields of its manifest.
type netOptions struct {
	testnet.Manifest
	file    string
	trainer *string
	zones   []string
	attacks []string
	flags   pflag.FlagSet // these flags
}

// declare declares the flags. The command declares its other flags afterwards.
func (o *netOptions) declare(cmd *cobra.Command) {
	m := &o.Manifest
	command.Flag(cmd, &m.Validators, "validators,n", 4, "nodes, each a validator with its worker").Positive()
	command.Flag(cmd, &m.Relays, "relays", 0, "nodes without keys beside them, which forward: the validators then listen "+
		"nowhere and dial the relays alone").Positive()
	command.Flag(cmd, &m.Workers, "workers", 0, "participants beside them whose workers a few processes run").Positive()
	command.Flag(cmd, &m.Rounds, "rounds", 0, "rounds (default: the preset's)").Positive()
	command.Flag(cmd, &m.Preset, "preset", preset.Names()[0], "parameters: "+strings.Join(preset.AllNames(), ", ")).
		Values(preset.AllNames()...)
	command.Flag(cmd, &m.Params, "params", "", "JSON file of parameters in place of a preset")
	command.Flag(cmd, &m.Model, "model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	command.Flag(cmd, &m.Examples, "examples", 0, "examples a participant (default: as many as the data give)").Positive()
	command.Optional(cmd, &o.trainer, "trainer", "program, with arguments, that computes the gradients of an external "+
		"model, as \"python3 train.py\"")
	command.Flag(cmd, &m.Rule, "rule", "", "aggregation rule (default: the preset's)").Values(rules.Names()...)
	command.Flag(cmd, &m.Epsilon, "epsilon", 0, "privacy budget that sets the noise (default: the preset's)").Positive()
	command.Flag(cmd, &m.Batch, "batch", 0, "expected examples behind a gradient; the sampling rate and the noise follow "+
		"(default: the preset's)").Positive()
	command.Flag(cmd, &m.LearningRate, "learning-rate", 0, "learning rate (default: the preset's, less where --epsilon "+
		"takes more noise)").Positive()
	command.Flag(cmd, &m.Tolerance, "tolerance", 0, "delta: grid steps that a leader's aggregate may be off in a "+
		"coordinate (default: 0, it must be exact)")
	command.Optional(cmd, &m.CommitReveal, "commit-reveal", "commit to gradients before any is out, which takes a height "+
		"more a round (default: as the parameters have it)")
	command.Flag(cmd, &m.Data, "data", "", "folder of MNIST's IDX files, CSV or Parquet file (default: the embedded "+
		"MNIST)")
	command.TableFlags(cmd, &m.Label, &m.Group, &m.Schema, "")
	command.Flag(cmd, &m.Force, "force", false, "train tables even with too few rows for their epsilon")
	command.Flag(cmd, &m.Partition, "partition", testnet.Partitions[0], "how the training set is dealt out: "+
		strings.Join(testnet.Partitions, " or ")).Values(testnet.Partitions...)
	command.Flag(cmd, &m.Alpha, "alpha", 1, "concentration of the dirichlet partition").Positive()
	command.Flag(cmd, &m.Seed, "seed", 0, "fix genesis, partition and noise (NO PRIVACY; default: random)").Positive()
	command.Flag(cmd, &m.Neighbours, "neighbours", 0, "persistent peers of a node (default: all up to 10 nodes, then 8, "+
		"at least f+1)").Positive()
	command.Flag(cmd, &o.zones, "zones", nil, "zones of the nodes, in turn, whose round trips delay the links: "+
		strings.Join(testnet.Regions, ", ")+", or those of the manifest's routes")
	command.Flag(cmd, &o.attacks, "attack", nil, "nodes that misbehave, as 5=sign-flip,6=equivocate, in place of the "+
		"manifest's: "+strings.Join(testnet.AttackKinds(), ", ")+", and the attacks of docs/RULES.md")
	command.Flag(cmd, &m.Patience, "patience", 0, "longer wait of rounds, for slow training steps").Positive()
	command.Flag(cmd, &m.Port, "port", 0, "RPC port of node 0; two a node follow (default: free ones)").Positive()
	command.Flag(cmd, &m.ChainID, "chain-id", "spdl-localnet", "id of the chain")
	command.Flag(cmd, &o.file, "manifest", "", "TOML file that describes the net and its perturbations; flags override it")
	o.flags.AddFlagSet(cmd.Flags())
}

// manifest returns the manifest in the file, with the values of the flags in place of its own. Errors about the
// manifest file and its values are UsageErrors. An error of opening a file that the manifest names is not.
func (o *netOptions) manifest(r *command.Run, home string) (m testnet.Manifest, err error) {
	var made testnet.Manifest // the file's
	if o.file != "" {
		if err := r.Defaults(func() (err error) {
			made, err = testnet.LoadManifest(o.file)
			o.Manifest = made
			return err
		}); err != nil {
			return m, command.Usage(err)
		}
	}
	if err := o.resolve(r); err != nil {
		return m, err
	}
	m, m.Home = o.Manifest, home
	if iid := testnet.Partitions[0]; m.Partition == iid && r.Given(&o.Alpha) {
		return m, command.Usage(fmt.Errorf("--alpha %g and the partition %q, which has none: add --partition %s", m.Alpha,
			iid, testnet.Partitions[1]))
	}
	err = m.Check()
	was, now := made.Validators+made.Workers, m.Validators+m.Workers
	if p, bad := preset.Load(made.Params); bad == nil && made.Params == m.Params && made.Validators > 0 && was != now {
		r.Warn(fmt.Sprintf("%s is for %d participants, with f = %d and batch %d, and the net has %d: make a study for them "+
			"with spdl new --validators %[5]d", m.Params, was, p.Rule.Byzantine, p.Privacy.Batch, now))
	}
	if missing := new(fs.PathError); err == nil || errors.As(err, &missing) {
		return m, err
	}
	return m, command.Usage(err)
}

// resolve applies the flags that also replace other fields: a preset replaces the file's parameters, parameters replace
// its preset, and data replace its label. The paths in flags are relative to the working directory.
func (o *netOptions) resolve(r *command.Run) (err error) {
	m := &o.Manifest
	byPreset, byParams := r.Given(&m.Preset), r.Given(&m.Params)
	if byPreset && !byParams {
		m.Params = ""
	}
	if byParams {
		if !byPreset {
			m.Preset = ""
		}
		if m.Params, err = filepath.Abs(m.Params); err != nil {
			return err
		}
	}
	if r.Given(&m.Data) && !r.Given(&m.Label) {
		m.Label = ""
	}
	if len(o.zones) > 0 {
		m.Zones = testnet.DealZones(o.zones, m.Validators+m.Relays)
	}
	if len(o.attacks) > 0 {
		if m.Attacks, err = testnet.ParseAttacks(o.attacks); err != nil {
			return command.Usage(fmt.Errorf("--attack: %w", err))
		}
	}
	if o.trainer != nil {
		return m.UseTrainer(*o.trainer)
	}
	return nil
}

// given returns the names of the given flags.
func (o *netOptions) given() (names []string) {
	o.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func testnetInitCommand() *cobra.Command {
	o := &netOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "init",
		Short: "Make the homes node0 to node<N-1> of a localnet under --home",
		Example: "  spdl-lab testnet init --validators 4 --home ./net\n" +
			"  spdl-lab testnet init --manifest net.toml --home ./net && spdl-lab testnet start --home ./net",
	}, func(r *command.Run, _ []string) error {
		m, err := o.manifest(r, r.Home)
		if err != nil {
			return err
		}
		n, err := testnet.Init(m)
		if err != nil {
			return err
		}
		warn(r, n)
		return r.Show(n.Nodes, func(w io.Writer) {
			for _, x := range n.Nodes {
				fmt.Fprintf(w, "%s  rpc %s  p2p %s\n", r.InText(x.Home), x.RPC, x.P2P)
			}
			fmt.Fprintf(w, "start it: %s testnet start --home %s\n", command.Program("spdl-lab"), r.InText(m.Home))
		})
	})
	o.declare(cmd)
	return cmd
}

// testnetNodeCommand returns the command `testnet node`, which is `start` for a node with the
// misbehaviour that its net's manifest describes. `testnet start` runs it.
func testnetNodeCommand() *cobra.Command {
	return clinode.Runs(&cobra.Command{
		Use:    "node",
		Short:  "Run the node of a home whose participant misbehaves by its localnet's manifest",
		Hidden: true,
	}, func(r *command.Run) (h node.Hooks, err error) {
		n, i, err := testnet.Misbehaving(r.Home)
		if err != nil {
			return h, command.Usage(err)
		}
		err = train.Collude(n)
		return n.Manifest.Hooks(i), err
	})
}

// warn prints the warnings about a net's genesis and its seed, and names its attackers.
func warn(r *command.Run, n *testnet.Net) {
	for _, w := range n.Warnings {
		r.Warn(w)
	}
	for _, a := range n.Manifest.Attacks {
		fmt.Fprintf(r.Err, "node %d attacks: %s\n", a.Node, a.Kind)
	}
	if n.Manifest.Seed != 0 {
		r.Warn("TEST CHAIN ONLY: --seed makes the noise known, nothing is private")
	}
}
