// Package testnet has the commands that make and run localnets.
package testnet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
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

// manifestFlags adds the flags of manifestOptions.
func manifestFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int("validators", 4, "nodes, each a validator with its worker")
	f.Int("workers", 0, "participants beside them without a node, whose workers a few processes run")
	f.Uint64("rounds", 0, "rounds (default: the preset's)")
	f.String("preset", preset.Names()[0], "parameters: "+strings.Join(preset.AllNames(), ", "))
	f.String("params", "", "JSON file of parameters in place of a preset")
	f.String("model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	f.Int("examples", 0, "examples of each participant (default: as many as the data give)")
	f.String("trainer", "", "program, with arguments, that computes the gradients of an external model, as "+
		"\"python3 train.py\"")
	f.String("rule", "", "aggregation rule (default: the preset's)")
	f.Float64("epsilon", 0, "privacy budget of each participant, which sets the noise (default: the preset's)")
	f.Float64("learning-rate", 0, "learning rate (default: the preset's, less where --epsilon takes more noise)")
	f.Int64("tolerance", 0, "delta: grid steps that a leader's aggregate may be off in a coordinate (default: 0, it "+
		"must be exact)")
	f.Bool("commit-reveal", false, "commit to gradients before any is out, which takes a height more a round (default: "+
		"as the parameters have it)")
	f.String("data", "", "folder of IDX files in MNIST's format, or CSV file (default: the embedded MNIST)")
	f.String("label", "", "column of the labels in the CSV file")
	f.String("partition", "iid", "how the training set is dealt out: iid or dirichlet")
	f.Float64("alpha", 1, "concentration of the dirichlet partition")
	f.Uint64("seed", 0, "fix genesis, partition and noise (NO PRIVACY; default: random)")
	f.Int("neighbours", 0, "persistent peers of a node (default: all up to 10 nodes, then 8, at least f+1)")
	f.String("chain-id", "spdl-localnet", "id of the chain")
	f.String("manifest", "", "TOML file that describes the net and its perturbations; flags override it")
	command.Values(cmd, "preset", preset.AllNames()...)
	command.Values(cmd, "rule", rules.Names()...)
	command.Values(cmd, "partition", home.PartitionIID, home.PartitionDirichlet)
}

// manifestOptions describe a net. A nil field keeps the value of the manifest file, or the default.
type manifestOptions struct {
	Validators *int     `mapstructure:"validators"`
	Workers    *int     `mapstructure:"workers"`
	Rounds     *uint64  `mapstructure:"rounds"`
	Preset     *string  `mapstructure:"preset"`
	Params     *string  `mapstructure:"params"`
	Model      *string  `mapstructure:"model"`
	Examples   *int     `mapstructure:"examples"`
	Trainer    *string  `mapstructure:"trainer"`
	Rule       *string  `mapstructure:"rule"`
	Epsilon    *float64 `mapstructure:"epsilon"`
	Rate       *float64 `mapstructure:"learning-rate"`
	Tolerance  *int64   `mapstructure:"tolerance"`
	Reveal     *bool    `mapstructure:"commit-reveal"`
	Data       *string  `mapstructure:"data"`
	Label      *string  `mapstructure:"label"`
	Partition  *string  `mapstructure:"partition"`
	Alpha      *float64 `mapstructure:"alpha"`
	Seed       *uint64  `mapstructure:"seed"`
	Neighbours *int     `mapstructure:"neighbours"`
	ChainID    *string  `mapstructure:"chain-id"`
	Manifest   string   `mapstructure:"manifest"`
}

// manifest returns the manifest of the file, with the options in place of its fields. Errors of the
// manifest file and of its values are UsageErrors; a file that the manifest names and that cannot
// be opened is not.
func (o *manifestOptions) manifest(home string) (m testnet.Manifest, err error) {
	if err := errors.Join(command.Positive("validators", o.Validators), command.Positive("workers", o.Workers),
		command.Positive("rounds", o.Rounds), command.Positive("alpha", o.Alpha),
		command.Positive("seed", o.Seed), command.Positive("neighbours", o.Neighbours),
		command.Positive("examples", o.Examples), command.Positive("epsilon", o.Epsilon),
		command.Positive("learning-rate", o.Rate)); err != nil {
		return m, err
	}
	if o.Manifest != "" {
		if m, err = testnet.LoadManifest(o.Manifest); err != nil {
			return m, command.Usage(err)
		}
	}
	m.Home = home
	m.Validators, m.Rounds, m.Seed = command.Or(o.Validators, m.Validators), command.Or(o.Rounds, m.Rounds),
		command.Or(o.Seed, m.Seed)
	m.Preset, m.Rule, m.Examples = command.Or(o.Preset, m.Preset), command.Or(o.Rule, m.Rule),
		command.Or(o.Examples, m.Examples)
	m.Workers = command.Or(o.Workers, m.Workers)
	m.Epsilon, m.LearningRate = command.Or(o.Epsilon, m.Epsilon), command.Or(o.Rate, m.LearningRate)
	m.Tolerance = command.Or(o.Tolerance, m.Tolerance)
	if o.Reveal != nil {
		m.CommitReveal = o.Reveal
	}
	m.Partition, m.Alpha = command.Or(o.Partition, m.Partition), command.Or(o.Alpha, m.Alpha)
	o.data(&m)
	if err := o.external(&m); err != nil {
		return m, err
	}
	m.Neighbours, m.ChainID = command.Or(o.Neighbours, m.Neighbours), command.Or(o.ChainID, m.ChainID)
	err = m.Check()
	if missing := new(fs.PathError); err == nil || errors.As(err, &missing) {
		return m, err
	}
	return m, command.Usage(err)
}

// external applies the options of an external model to the manifest. Their paths are relative to
// the working directory.
func (o *manifestOptions) external(m *testnet.Manifest) (err error) {
	if o.Preset != nil {
		m.Params = ""
	}
	if o.Params != nil {
		m.Preset = command.Or(o.Preset, "")
		if m.Params, err = filepath.Abs(*o.Params); err != nil {
			return err
		}
	}
	m.Model = command.Or(o.Model, m.Model)
	if o.Trainer != nil {
		err = m.UseTrainer(*o.Trainer)
	}
	return err
}

// data applies the options of the data to the manifest. --data drops the manifest's label column.
func (o *manifestOptions) data(m *testnet.Manifest) {
	if o.Data != nil {
		m.Data, m.Label = *o.Data, ""
	}
	m.Label = command.Or(o.Label, m.Label)
}

// given returns the names of the given options.
func (o *manifestOptions) given() (names []string) {
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, "--"+v.Type().Field(i).Tag.Get("mapstructure"))
		}
	}
	return names
}

func testnetInitCommand() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "init",
		Short: "Make the homes node0 to node<N-1> of a localnet under --home",
	}, func(r *command.Run, o *manifestOptions, _ []string) error {
		m, err := o.manifest(r.Home)
		if err != nil {
			return err
		}
		n, err := testnet.Init(m)
		if err != nil {
			return err
		}
		warn(r, n)
		return r.Show(n.Nodes, func(w io.Writer) error {
			for _, x := range n.Nodes {
				fmt.Fprintf(w, "%s  rpc %s  p2p %s\n", x.Home, x.RPC, x.P2P)
			}
			return nil
		})
	})
	manifestFlags(cmd)
	return cmd
}

// testnetNodeCommand returns the command `testnet node`, which is `start` for a node with the
// misbehaviour that its net's manifest describes. `testnet start` runs it.
func testnetNodeCommand() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:    "node",
		Short:  "Run the node of a home whose participant misbehaves by its localnet's manifest",
		Hidden: true,
	}, func(r *command.Run, o *clinode.LogLevel, _ []string) error {
		n, i, err := testnet.Misbehaving(r.Home)
		if err != nil {
			return command.Usage(err)
		}
		if err := train.Collude(n); err != nil {
			return err
		}
		return clinode.Run(r, *o, n.Manifest.Hooks(i))
	})
	cmd.Flags().String("log-level", "", "overrides log_level of config.toml")
	return cmd
}

// warn prints the warnings about a net's genesis and its seed.
func warn(r *command.Run, n *testnet.Net) {
	for _, w := range n.Warnings {
		r.Warn(w)
	}
	if n.Manifest.Seed != 0 {
		r.Warn("TEST CHAIN ONLY: --seed makes the noise known, nothing is private")
	}
}
