// Package figures is the command line of spdl-figures: experiments and reports. It links plots and
// attacks, which a validator does not need.
package figures

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/experiment"
	"github.com/spdl/spdl/cmd/internal/cli/report"
)

// Main runs a command line and returns its exit code. Data goes to out; progress, logs and errors
// to errs.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	return command.Execute(ctx, Root(out, errs), args)
}

// Root returns the whole command line.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl-figures", "Compute the figures of SPDL, and report what a chain did")
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(experiment.Command(), report.Command())
	return command.Complete(root)
}
