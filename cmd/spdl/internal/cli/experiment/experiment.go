// Package experiment has the command that computes figures.
package experiment

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment"
)

// Command computes figures.
func Command() *cobra.Command {
	var names strings.Builder
	for _, e := range experiment.All() {
		fmt.Fprintf(&names, "  %-12s %s\n", e.Name, e.Title)
	}
	cmd := &cobra.Command{
		Use:   "experiment NAME...",
		Short: "Compute the paper's figures and ours: NAME.csv, .svg and .png",
		Long: "Compute the paper's figures and ours. Each becomes NAME.csv, NAME.svg and NAME.png in --out, with the command, the\n" +
			"seeds and the version inside. What was finished before is kept in --out/cells and not computed again.\n\n" + names.String() +
			"  all          every one of them",
		Example: "  spdl experiment convergence --seeds 3\n  spdl experiment all --quick --out /tmp/figures && spdl report /tmp/figures",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := experiments(args)
			if err != nil {
				return command.Usage(err)
			}
			o, err := experimentOptions(chosen)
			if err != nil {
				return command.Usage(err)
			}
			version, err := command.Build()
			if err != nil {
				return err
			}
			r := experiment.Runner{
				Options: o, Dir: viper.GetString("out"), Jobs: viper.GetInt("jobs"), Version: version, Log: os.Stderr,
				Command: experimentLine(cmd, args), Data: mnist.Embedded,
			}
			if r.Quick && !viper.IsSet("out") {
				r.Dir += "-quick"
			}
			if err := r.Run(cmd.Context(), chosen...); err != nil {
				return err
			}
			files := make([]string, len(chosen))
			for i, e := range chosen {
				files[i] = filepath.Join(r.Dir, e.Name+".svg")
			}
			return command.Show(cmd.OutOrStdout(), map[string][]string{"files": files}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, strings.Join(files, "\n"))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.Int("seeds", 1, "repetitions with seeds 1 to this; more than one gives bands")
	f.Bool("quick", false, "fewer rounds and cells: to see that it works, not to cite")
	f.String("out", filepath.Join("build", "figures"), "folder of the files (of a quick run: figures-quick beside it)")
	f.StringSlice("rules", nil, "rules of the experiment attacks, or all (default: those that the full figure shows)")
	f.StringSlice("attacks", nil, "attacks of the experiment attacks, or all (default: all, in a quick run five)")
	f.Int("jobs", 0, "trainings at a time (default: one a core)")
	return cmd
}

// experimentOptions are those of the flags, which the chosen experiments accept.
func experimentOptions(chosen []experiment.Experiment) (experiment.Options, error) {
	o := experiment.Options{Seeds: viper.GetInt("seeds"), Quick: viper.GetBool("quick"), Rules: list("rules"), Attacks: list("attacks")}
	grid := slices.ContainsFunc(chosen, func(e experiment.Experiment) bool { return e.Name == "attacks" })
	switch {
	case o.Seeds < 1 || o.Seeds > 1000:
		return o, fmt.Errorf("--seeds is %d, want 1 to 1000", o.Seeds)
	case viper.GetInt("jobs") < 0:
		return o, fmt.Errorf("--jobs is %d, want at least 1, or 0 for one a core", viper.GetInt("jobs"))
	case !grid && (o.Rules != nil || o.Attacks != nil):
		return o, fmt.Errorf("--rules and --attacks are those of the experiment attacks, which is not asked for")
	}
	for _, e := range chosen {
		if err := e.Check(o); err != nil {
			return o, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return o, nil
}

// experiments are the named ones, in order, each once.
func experiments(names []string) (chosen []experiment.Experiment, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		some := experiment.All()
		if name != "all" {
			e, err := experiment.Lookup(name)
			if err != nil {
				return nil, err
			}
			some = []experiment.Experiment{e}
		}
		for _, e := range some {
			if !seen[e.Name] {
				chosen = append(chosen, e)
			}
			seen[e.Name] = true
		}
	}
	return chosen, nil
}

// list is a flag's list, nil where it is empty.
func list(flag string) []string {
	if v := viper.GetStringSlice(flag); len(v) > 0 {
		return v
	}
	return nil
}

// experimentLine is the command that makes the same files again, wherever.
func experimentLine(cmd *cobra.Command, names []string) string {
	line := "spdl experiment " + strings.Join(names, " ")
	for _, flag := range []string{"seeds", "quick", "rules", "attacks"} {
		value := viper.GetString(flag) // of the command line or the environment
		if flag == "rules" || flag == "attacks" {
			value = strings.Join(list(flag), ",")
		}
		switch {
		case value == strings.Trim(cmd.Flags().Lookup(flag).DefValue, "[]"):
		case flag == "quick":
			line += " --quick"
		default:
			line += " --" + flag + " " + value
		}
	}
	return line
}
