// Package command holds the parts of every command of the command line: options that viper fills, a
// printer for text and JSON, errors with exit codes, and the values that completion offers.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/testnet"
)

// global are the options of every command.
type global struct {
	Home   *string `mapstructure:"home"`
	Output string  `mapstructure:"output"`
}

// Run is one run of a command: the values of the global options and the outputs.
type Run struct {
	Context context.Context
	Home    string // --home or its default
	Named   bool   // Home was set by the flag or by SPDL_HOME
	JSON    bool   // -o json
	Out     io.Writer
	Err     io.Writer

	asked string // names the node that was asked and the option that chose it
}

// Root returns the root command, with the flags that every command has.
func Root(use, short string) *cobra.Command {
	root := Group(use, short)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentFlags().String("home", defaultHome(), "folder of the node's configuration and data")
	root.PersistentFlags().StringP("output", "o", "text", "form of the output: text or json")
	_ = root.MarkPersistentFlagDirname("home") // fails only for a flag that does not exist
	values(root, root.PersistentFlags(), "output", "text", "json")
	root.SetFlagErrorFunc(flagError)
	return root
}

func defaultHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".spdl")
}

// Group returns a command that only holds subcommands.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.SuggestionsMinimumDistance = distance
	cmd.AddCommand(subs...)
	return cmd
}

// New makes cmd run with options of type O, filled from the flags and the environment (SPDL_NODE
// for --node) alone. Each flag of the command has one field, whose mapstructure tag is the flag's
// name; a pointer is nil if the option is not given. A flag without a field, or a field without a
// flag, is an error in every run.
func New[O any](cmd *cobra.Command, run func(r *Run, o *O, args []string) error) *cobra.Command {
	var r *Run
	var o *O
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var g global
		r, o = &Run{Context: cmd.Context(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()}, new(O)
		if err := fill(cmd.InheritedFlags(), &g); err != nil {
			return err
		}
		if g.Output != "text" && g.Output != "json" {
			return suggest(cmd, Usage(fmt.Errorf("--output is %q, want text or json", g.Output)))
		}
		r.JSON, r.Named, r.Home = g.Output == "json", g.Home != nil, Or(g.Home, defaultHome())
		return fill(cmd.LocalNonPersistentFlags(), o)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return suggest(cmd, r.explain(run(r, o, args)))
	}
	return cmd
}

// Or returns the given value, or otherwise if given is nil.
func Or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// LoadHome reads the configuration of the home.
func (r *Run) LoadHome() (*config.Config, home.AppConfig, error) {
	c, a, err := home.Load(r.Home)
	return c, a, r.localnet(err)
}

// localnet replaces an error by a hint if the home is the folder of a whole localnet.
func (r *Run) localnet(err error) error {
	if err != nil && testnet.Made(r.Home) {
		return fmt.Errorf("%s holds the homes of a localnet: name one of its nodes, as in --home %s", r.Home,
			filepath.Join(r.Home, "node0"))
	}
	return err
}
