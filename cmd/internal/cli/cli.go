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

// foreign holds, by command, words under which other programs have it.
var foreign = map[string][]string{
	"testnet": {"localnet", "devnet", "demo"}, "start": {"run", "node"}, "explorer": {"ui", "web", "dashboard"},
	"doctor": {"check", "health"}, "query": {"get", "show"}, "debug": {"logs"},
}

// Root returns the whole command line. A variable of the environment may take the place of a flag,
// such as SPDL_HOME for --home.
func Root(out, errs io.Writer) *cobra.Command {
	root := command.Root("spdl", "Blockchain-secured and privacy-preserving decentralised learning")
	root.SetOut(out)
	root.SetErr(errs)
	root.Long = "Train one model with organisations that you do not trust. spdl runs nodes and their workers, shows " +
		"what they do, and proves it.\n\n" +
		"Data go to standard output, all else to standard error. With -o json the data are JSON, and an error is one " +
		"JSON object."
	root.Example = "  spdl testnet start --stay --explorer\n" +
		"        # four nodes train here, with web pages; in a second terminal: spdl top --node ADDRESS\n" +
		"  spdl plan --epsilon 2\n" +
		"        # noise, accuracy and hosts, before there is a chain\n" +
		"  spdl consortium new ./ours --chain-id ours-1 --members a,b,c,d\n" +
		"        # four organisations found a chain\n" +
		"  source <(spdl completion bash)\n" +
		"        # commands, flags and their values by the Tab key; also zsh, fish, powershell"
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Start here", start.Commands()},
		{"Node", node.Commands()},
		{"Consortium", consortium.Commands()},
		{"Watch", look.Commands()},
		{"Prove", prove.Commands()},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID, c.SuggestFor = g.title, foreign[c.Name()]
		}
		root.AddCommand(g.commands...)
	}
	return command.Complete(root)
}
