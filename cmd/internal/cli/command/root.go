package command

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line of a root and returns its exit code. Data goes to the root's output;
// progress, logs and errors to its error output.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := unknownBeforeHelp(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return 0
	}
	PrintError(root.ErrOrStderr(), args, err)
	return Exit(err)
}

// unknownBeforeHelp rejects --help of a command that does not exist. Cobra prints the help of the
// group instead.
func unknownBeforeHelp(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	help := slices.Contains(rest, "--help") || slices.Contains(rest, "-h")
	if err != nil || !help || !cmd.HasSubCommands() || strings.HasPrefix(rest[0], "-") ||
		strings.HasPrefix(rest[0], "__") { // as cobra's own command of completion
		return nil
	}
	return Usage(UnknownCommand(cmd, rest[0]))
}

// Complete adds cobra's own commands to a root with all its commands, and returns it.
func Complete(root *cobra.Command) *cobra.Command {
	CheckArgs(root)
	return addCobras(root)
}

// addCobras adds cobra's own commands, completion and help, and checks their arguments. By default
// cobra adds them when the root runs, and they accept any argument.
func addCobras(root *cobra.Command) *cobra.Command {
	known := func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 && found.HasSubCommands() {
			err = UnknownCommand(found, rest[0])
		}
		if err != nil {
			return Usage(err)
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
			CheckArgs(cmd)
		case "help":
			cmd.Args = known
		}
	}
	return root
}
