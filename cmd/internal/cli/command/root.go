package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Execute runs a command line of a root and returns its exit code. Data goes to the root's output;
// progress, logs and errors to its error output.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	var unknown error
	rejectUnknownHelp(root, &unknown)
	err := errors.Join(root.ExecuteContext(ctx), unknown)
	defer func() {
		if q, ok := root.ErrOrStderr().(*logQueue); ok { // the command was a Service
			q.close()
		}
	}()
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return 0
	}
	printError(root.ErrOrStderr(), root.Name(), args, err)
	return Exit(err)
}

// rejectUnknownHelp stores an error if --help is given with a command that does not exist. Cobra
// prints the help of the group instead.
func rejectUnknownHelp(root *cobra.Command, unknown *error) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if given := cmd.Flags().Args(); cmd.HasSubCommands() && len(given) > 0 {
			*unknown = Usage(UnknownCommand(cmd, given[0]))
			return
		}
		help(cmd, args)
	})
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
