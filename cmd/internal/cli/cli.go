// Package cli is the command line. Each title of its help is a package of commands. It turns their errors into messages
// and exit codes.
package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/cmd/internal/cli/study"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
)

// Main runs a command line and returns its exit code. Data goes to out; progress, logs and errors to errs.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	return command.Execute(ctx, Root(out, errs), args)
}

// foreign holds, by command, words under which other programs have it.
var foreign = map[string][]string{
	"start": {"run", "node"}, "explorer": {"ui", "web", "dashboard", "block"}, "reset-state": {"rollback"},
	"doctor": {"check", "health", "net-info", "net_info", "inspect"}, "query": {"get", "show", "top"}, "debug": {"logs"},
}

// Root returns the whole command line. A variable of the environment may take the place of a flag,
// such as SPDL_HOME for --home.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl", "Blockchain-secured and privacy-preserving decentralised learning", out, errs)
	root.Long = "Train one model with organisations that you do not trust. spdl runs nodes and their workers, shows " +
		"what they do, and proves it.\n\n" +
		"Data go to standard output, all else to standard error. With -o json the data are JSON, and an error is one " +
		"JSON object."
	root.Example = "  spdl plan --epsilon 2\n        # noise, accuracy and hosts, before there is a chain\n" +
		"  spdl consortium new ./ours --chain-id ours-1 --members a,b,c,d\n" +
		"        # four organisations found a chain\n" +
		"  source <(spdl completion bash)\n" +
		"        # commands, flags and their values by the Tab key; also zsh, fish, powershell"
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Start here", []*cobra.Command{study.Schema(), study.Plan(), study.Rules(), study.New(), study.Trainer()}},
		{"Node", []*cobra.Command{node.Init(), node.Start(), node.Worker(), node.Signer(), node.Config(), node.Backup(),
			node.Restore(), node.ResetState(), node.Reset(), node.ShowNodeID(), node.ShowValidator(), node.Version()}},
		{"Consortium", []*cobra.Command{consortium.Consortium(), consortium.Genesis(), node.Keys(), consortium.Tx(),
			consortium.Consent()}},
		{"Watch", []*cobra.Command{watch.Query(), watch.NodeStatus(), watch.Explorer(), watch.Doctor(),
			watch.Debug()}},
		{"Prove", []*cobra.Command{prove.Model(), prove.Verify(), prove.Audit(), prove.Dossier()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID, c.SuggestFor = g.title, foreign[c.Name()]
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(moved())
	return command.Complete(root)
}

// moved returns the command that says, for one release, where `testnet` is.
func moved() *cobra.Command {
	return command.New(&cobra.Command{Use: "testnet", Aliases: []string{"localnet", "devnet", "demo"}, Hidden: true,
		DisableFlagParsing: true, Args: cobra.ArbitraryArgs, Short: "Localnets are in the program spdl-lab",
	}, func(*command.Run, []string) error {
		return command.Usage(fmt.Errorf("localnets are in the program %s: %[1]s testnet", command.Program("spdl-lab")))
	})
}
