package command

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/version"
)

// Main runs the command line of this process until it or a signal ends it, and exits with its code.
func Main(run func(ctx context.Context, args []string, out, errs io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Execute runs a command line of a root and returns its exit code. Data goes to the root's output;
// progress, logs and errors to its error output.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	var unknown error
	rejectUnknownHelp(root, &unknown)
	cmd, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, unknown)
	defer func() {
		if q, ok := root.ErrOrStderr().(*logQueue); ok { // the command was a Service
			q.close()
		}
	}()
	isEnded := ctx.Err() != nil && errors.Is(err, context.Canceled)
	if err == nil || isEnded && cmd.Annotations[service] != "" {
		return 0
	} else if isEnded {
		err = errors.New("interrupted")
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
		return Usage(err)
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

func init() { cobra.EnableCommandSorting = false } // groups have their commands in the order of use

// helpWidth is the width, in characters, at which cobra wraps the texts of flags.
const helpWidth = 100

// setHelp gives a root cobra's help, with wrapped flags, and beneath the root's what holds for every command.
func setHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages",
		fmt.Sprint("FlagUsagesWrapped ", helpWidth)) +
		fmt.Sprintf(`{{if not .HasParent}}
Environment:
  SPDL_NAME  the flag --name of any command, as SPDL_NODE for --node
  NO_COLOR   if it is set, no colours

Exit codes:
  0  done
  %d  failed
  %d  wrong use
  %d  the node did not answer
  %d  the chain is of another version than this program
{{end}}`, Failure, WrongUse, Unreachable, Upgrade))
}

// Build returns the name of this build: its version, with the hash of the executable if the version
// does not identify the sources.
func Build() (string, error) {
	v := version.Version
	if v != version.Unreleased && !strings.HasSuffix(v, "-dirty") {
		return v, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (executable %x)", v, h.Sum(nil)[:6]), nil
}

// Program returns what a reader types to run a program of this release: with the folder of this
// program if it was run by its path, as build/spdl or build/spdl-lab, and otherwise the name alone.
func Program(name string) string { return programBeside(os.Args[0], name) }

func programBeside(run, name string) string {
	at := strings.LastIndexByte(run, filepath.Separator)
	if at < 0 || run[at+1:] != "spdl" && run[at+1:] != "spdl-lab" {
		return name
	}
	return run[:at+1] + name
}
