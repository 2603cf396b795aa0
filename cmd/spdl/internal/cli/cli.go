// Package cli is the command line: it joins the groups of commands, a package
// each, and turns their errors into messages and exit codes.
package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

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
	"github.com/spdl/spdl/cmd/spdl/internal/cli/trainer"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/tx"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/verify"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/worker"
)

// Main runs a command line and returns its exit code. Data goes to out; progress,
// logs and errors to errs.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	root := Root(out, errs)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return 0
	}
	command.PrintError(errs, args, err)
	return command.Exit(err)
}

// Root returns the whole command line. Flags are also read from the
// environment, as SPDL_HOME for --home.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl", "Blockchain-secured and privacy-preserving decentralised learning")
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(
		node.Init(), node.Start(), worker.Command(), node.ShowNodeID(), node.ShowValidator(), node.Version(), node.Reset(),
		testnet.Commands(), genesis.Commands(), keys.Commands(), tx.Commands(), query.Commands(), query.NodeStatus(), top.Command(),
		trainer.New(), trainer.Commands(), model.Commands(), verify.Commands(), audit.Commands(), explorer.Command(),
		plan.Command(), plan.Rules(), experiment.Command(), report.Command(),
	)
	command.CheckArgs(root)
	return addCobras(root)
}

// addCobras adds cobra's own commands, completion and help, and checks their arguments. By default
// cobra adds them when the root runs, and they accept any argument.
func addCobras(root *cobra.Command) *cobra.Command {
	known := func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 && found.HasSubCommands() {
			err = command.UnknownCommand(found, rest[0])
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
			command.CheckArgs(cmd)
		case "help":
			cmd.Args = known
		}
	}
	return root
}
