// Package cli is the command line. It joins the groups of the help (package group/...), whose
// commands are packages too, and turns their errors into messages and exit codes.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/group/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/group/look"
	"github.com/spdl/spdl/cmd/internal/cli/group/node"
	"github.com/spdl/spdl/cmd/internal/cli/group/prove"
	"github.com/spdl/spdl/cmd/internal/cli/group/start"
)

// Main runs a command line and returns its exit code. Data goes to out; progress,
// logs and errors to errs.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	return command.Execute(ctx, Root(out, errs), args)
}

// Root returns the whole command line. A variable of the environment may take the place of a flag,
// such as SPDL_HOME for --home.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl", "Blockchain-secured and privacy-preserving decentralised learning")
	root.SetOut(out)
	root.SetErr(errs)
	root.Example = "  spdl testnet start --stay --explorer           # four nodes train here, with web pages\n" +
		"  spdl consortium new ./ours --members a,b,c,d   # four hosts found a chain"
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Start here", start.Commands()},
		{"Node", node.Commands()},
		{"Consortium", consortium.Commands()},
		{"Look", look.Commands()},
		{"Prove", prove.Commands()},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	return command.Complete(root)
}
