// Package lab is the command line of spdl-lab: localnets, experiments and reports. It links attacks and
// plots, which a validator does not need.
package lab

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/experiment"
	"github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/cmd/internal/cli/report"
	"github.com/spdl/spdl/cmd/internal/cli/testnet"
)

// Main runs a command line and returns its exit code. Data goes to out; progress, logs and errors to errs.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	return command.Execute(ctx, Root(out, errs), args)
}

// Root returns the whole command line. The nodes and workers of a localnet are processes of this program.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl-lab", "Run localnets of SPDL, compute its figures, and report what a chain did", out, errs)
	root.Example = "  spdl-lab testnet start --stay --explorer\n" +
		"        # four nodes train here, with web pages; in a second terminal: spdl query status --watch --node ADDRESS"
	root.AddCommand(testnet.Commands(), testnet.Rehearse(), experiment.Command(), report.Command())
	for _, c := range []*cobra.Command{node.Start(), node.Worker()} {
		c.Hidden = true
		root.AddCommand(c)
	}
	return command.Complete(root)
}
