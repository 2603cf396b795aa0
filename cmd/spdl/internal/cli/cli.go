// Package cli is the command line: it joins the groups of commands, a package
// each, and turns their errors into messages and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/audit"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/experiment"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/explorer"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/genesis"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/keys"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/model"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/node"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/plan"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/query"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/report"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/testnet"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/top"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/tx"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/verify"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// Main runs a command line and returns its exit code.
func Main(ctx context.Context) int {
	err := rootCommand().ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintln(os.Stderr, "spdl:", command.Plain(err.Error()))
	var usage command.UsageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	}
	return exitFailure
}

// rootCommand is the whole command line. Flags are also read from the
// environment, as SPDL_HOME for --home.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "spdl",
		Short:         "Blockchain-secured and privacy-preserving decentralised learning",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() }, // and so an unknown command is an error
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			viper.SetEnvPrefix("SPDL")
			viper.SetEnvKeyReplacer(strings.NewReplacer("-", "_", ".", "_"))
			viper.AutomaticEnv()
			if err := viper.BindPFlags(cmd.Flags()); err != nil {
				return err
			}
			if o := viper.GetString("output"); o != "text" && o != "json" {
				return command.Usage(fmt.Errorf("--output is %q, want text or json", o))
			}
			return nil
		},
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	root.PersistentFlags().String("home", filepath.Join(home, ".spdl"), "folder of the node's configuration and data")
	root.PersistentFlags().StringP("output", "o", "text", "form of the output: text or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Usage(err) })
	root.AddCommand(
		node.Init(), node.Start(), node.Worker(), node.ShowNodeID(), node.ShowValidator(), node.Version(), node.Reset(),
		testnet.Commands(), genesis.Commands(), keys.Commands(), tx.Commands(), query.Commands(), query.NodeStatus(), top.Command(),
		model.Commands(), verify.Commands(), audit.Commands(), explorer.Command(),
		plan.Command(), plan.Rules(), experiment.Command(), report.Command(),
	)
	wrapArgs(root)
	return addCobras(root)
}

// addCobras adds cobra's own commands, completion and help, which otherwise come
// when the root runs, and take any argument.
func addCobras(root *cobra.Command) *cobra.Command {
	known := func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 && found.HasSubCommands() {
			err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
		}
		if err != nil {
			return command.Usage(err)
		}
		return nil
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = nil
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			wrapArgs(cmd)
		case "help":
			cmd.Args = known
		}
	}
	return root
}

// wrapArgs makes wrong arguments of any command a usage error.
func wrapArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		var err error
		switch {
		case check != nil:
			err = check(c, args)
		case c.HasSubCommands() && len(args) > 0:
			err = fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
		default:
			err = cobra.NoArgs(c, args)
		}
		if err != nil {
			return command.Usage(err)
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}
