// Package command holds what all commands share: flags, which the environment may set, output as
// text or JSON, errors with exit codes, and the values that completion offers.
package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/version"
)

// Run is one run of a command: the values of the global options and the outputs.
type Run struct {
	Context  context.Context
	Home     string // --home or its default, as an absolute path
	HomeText string // the same as it was given, for texts
	Named    bool   // Home was set by the flag or by SPDL_HOME
	JSON     bool   // -o json
	Out      io.Writer
	Err      io.Writer

	flags    *pflag.FlagSet
	path     string         // of the command, as spdl audit replay
	keystore *home.Keystore // of Home, once Keystore was called
	node     string         // address of the node that was asked
	asked    string         // describes the queried node and the option that chose it
}

// Root returns the root command, with the flags that every command has.
func Root(use, short string, out, errs io.Writer) *cobra.Command {
	root := Group(use, short)
	root.SetOut(out)
	root.SetErr(errs)
	root.SilenceUsage, root.SilenceErrors = true, true
	f := root.PersistentFlags()
	declare(root, f, "home", "folder of the node's configuration and data", option(new(string), defaultHome()))
	declare(root, f, "output,o", "form of the output: text or json", option(new(string), "text")).Values("text", "json")
	_ = root.MarkPersistentFlagDirname("home") // fails only for a flag that does not exist
	root.SetFlagErrorFunc(flagError)
	setHelp(root)
	root.Version = version.Version
	return root
}

func defaultHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".spdl")
}

// Group returns a command that only holds subcommands.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}

// New makes cmd run a function after its flags have their values; Flag and Optional declare the flags. A value comes
// from the command line, or else from the environment (SPDL_NODE for --node), or else it is the default.
func New(cmd *cobra.Command, run func(r *Run, args []string) error) *cobra.Command {
	var r *Run
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		r, err = newRun(cmd)
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.orWithin(r.explain(run(r, args)))
	}
	return cmd
}

// newRun returns a run of a command whose command line is parsed.
func newRun(cmd *cobra.Command) (*Run, error) {
	r := &Run{Context: cmd.Context(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), flags: cmd.Flags(),
		path: cmd.CommandPath()}
	for _, warning := range stray(cmd) {
		r.Warn(warning)
	}
	if err := parse(r.flags); err != nil {
		return nil, err
	}
	home, output := r.flags.Lookup("home"), r.flags.Lookup("output").Value.String()
	r.Named, r.JSON = home.Changed, output == "json"
	var err error
	r.HomeText = home.Value.String()
	r.Home, err = filepath.Abs(r.HomeText)
	return r, err
}

// Or returns *given, or otherwise if given is nil.
func Or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// AtHome returns the function of a command that begins with the configuration of the home.
func AtHome(run func(*Run, *config.Config, home.AppConfig, []string) error) func(*Run, []string) error {
	return func(r *Run, args []string) error {
		c, a, err := r.LoadHome()
		if err != nil {
			return err
		}
		return run(r, c, a, args)
	}
}

// LoadHome reads the configuration of the home.
func (r *Run) LoadHome() (*config.Config, home.AppConfig, error) { return home.Load(r.Home) }

// InText returns a path in the home as the home was given, for texts. It returns every other path unchanged.
func (r *Run) InText(path string) string {
	if rel, err := filepath.Rel(r.Home, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(r.HomeText, rel)
	}
	return path
}

// Homes returns the homes that a command examines: the home itself, or those in its subfolders if it is none, as the
// folder of a localnet is.
func (r *Run) Homes() []string {
	if within := home.Within(r.Home); len(within) > 0 && !isHome(r.Home) {
		return within
	}
	return []string{r.Home}
}

func isHome(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "config", "config.toml"))
	return err == nil
}

// orWithin replaces an error about a file that the home lacks by that of OneHome.
func (r *Run) orWithin(err error) error {
	file := absent(err)
	if file == nil || !strings.HasPrefix(file.Path, filepath.Clean(r.Home)+string(filepath.Separator)) {
		return err
	}
	return cmp.Or(r.OneHome(), err)
}

// OneHome returns an error that names the homes in the subfolders of the home, if it is none itself.
func (r *Run) OneHome() error {
	within := r.Homes()
	if within[0] == r.Home {
		return nil
	}
	return Usage(fmt.Errorf("%s is no home, and holds %d: name one with --home: %s", r.Home, len(within),
		strings.Join(within, ", ")))
}
