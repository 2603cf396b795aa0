package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/home"
)

// parse sets flags that are missing on the command line from the environment (SPDL_NODE for
// --node), and checks all flags.
func parse(flags *pflag.FlagSet) error {
	v := viper.New()
	v.SetEnvPrefix("SPDL")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	var errs []error
	var missing []string
	flags.VisitAll(func(f *pflag.Flag) {
		o, ours := f.Value.(*Option)
		if !f.Changed && v.IsSet(f.Name) && f.Name != "help" {
			if err := f.Value.Set(v.GetString(f.Name)); err != nil {
				name := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
				errs = append(errs, fmt.Errorf("SPDL_%s is %q, want %s", name, v.GetString(f.Name), want(f, err)))
				return
			}
			f.Changed = true
		}
		switch {
		case ours && f.Changed:
			errs = append(errs, o.check())
		case ours && o.required:
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) > 0 {
		errs = append(errs, needed(flags, missing))
	}
	return Usage(errors.Join(errs...))
}

// stray returns a warning for each variable of the environment that looks like one of this program, and that no
// command and no file of a home takes or, with a command that runs a home, only another command.
func stray(cmd *cobra.Command) []string {
	var own []string
	if cmd.Flags().Lookup(logLevel) != nil {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { own = append(own, f.Name) })
	}
	return home.Stray(os.Environ(), flagsBeneath(cmd.Root()), own)
}

// flagsBeneath returns the names of the flags of a command and of its subcommands.
func flagsBeneath(cmd *cobra.Command) (names []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, sub := range cmd.Commands() {
		names = append(names, flagsBeneath(sub)...)
	}
	return names
}

// needed returns the error for missing flags.
func needed(flags *pflag.FlagSet, missing []string) error {
	if len(missing) == 1 {
		return fmt.Errorf("%s is needed: %s", missing[0], flags.Lookup(strings.TrimPrefix(missing[0], "--")).Usage)
	}
	return fmt.Errorf("%s are needed", strings.Join(missing, " and "))
}

// given returns the options whose flags are given.
func (r *Run) given() (all []*Option) {
	r.flags.VisitAll(func(f *pflag.Flag) {
		if o, ok := f.Value.(*Option); ok && f.Changed {
			all = append(all, o)
		}
	})
	return all
}

// GivenIn returns the given flags of a set as a command line has them, each after a space, but those that are named.
func GivenIn(flags *pflag.FlagSet, without ...string) (line string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || slices.Contains(without, f.Name) {
			return
		}
		if line += " --" + f.Name; f.Value.String() != f.NoOptDefVal {
			line += "=" + strings.Trim(f.Value.String(), "[]")
		}
	})
	return line
}

// Asking returns the command line of the run, which asks a node in place of the home.
func (r *Run) Asking(node string) string {
	return strings.Join(append([]string{r.path}, r.flags.Args()...), " ") + GivenIn(r.flags, "home") + " --node " + node
}

// Given reports whether the flag that sets a variable is given.
func (r *Run) Given(variable any) bool {
	return slices.ContainsFunc(r.given(), func(o *Option) bool { return o.variable == variable })
}

// Defaults calls set, which may set the variables of flags, for example to the values of a file.
// Variables whose flags are given keep their values.
func (r *Run) Defaults(set func() error) error {
	for _, o := range r.given() {
		defer o.hold()()
	}
	return set()
}
