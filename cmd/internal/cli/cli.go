// Package cli is the command line. It joins the groups of commands, each of which is a package, and
// turns their errors into messages and exit codes.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/compare"
	"github.com/spdl/spdl/cmd/internal/cli/consent"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/doctor"
	"github.com/spdl/spdl/cmd/internal/cli/dossier"
	"github.com/spdl/spdl/cmd/internal/cli/explorer"
	"github.com/spdl/spdl/cmd/internal/cli/genesis"
	"github.com/spdl/spdl/cmd/internal/cli/keys"
	"github.com/spdl/spdl/cmd/internal/cli/model"
	"github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/cmd/internal/cli/plan"
	"github.com/spdl/spdl/cmd/internal/cli/query"
	"github.com/spdl/spdl/cmd/internal/cli/signer"
	"github.com/spdl/spdl/cmd/internal/cli/testnet"
	"github.com/spdl/spdl/cmd/internal/cli/top"
	"github.com/spdl/spdl/cmd/internal/cli/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/tx"
	"github.com/spdl/spdl/cmd/internal/cli/verify"
	"github.com/spdl/spdl/cmd/internal/cli/worker"
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
		{"Start here", []*cobra.Command{testnet.Commands(), plan.Command(), plan.Rules(), trainer.New(), trainer.Commands()}},
		{"Node", []*cobra.Command{node.Init(), node.Start(), worker.Command(), signer.Command(), node.Config(), node.Backup(),
			node.Restore(), node.ResetState(), node.Reset(), node.ShowNodeID(), node.ShowValidator(), node.Version()}},
		{"Consortium", []*cobra.Command{consortium.Commands(), genesis.Commands(), keys.Commands(), tx.Commands(),
			consent.Command()}},
		{"Look", []*cobra.Command{query.Commands(), query.NodeStatus(), top.Command(), explorer.Command(), doctor.Command(),
			doctor.Debug(), compare.Command(), compare.TensorBoard()}},
		{"Prove", []*cobra.Command{model.Commands(), verify.Commands(), audit.Commands(), dossier.Command()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	return command.Complete(root)
}
