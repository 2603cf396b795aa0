package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment"
)

// experimentCommand computes figures.
func experimentCommand() *cobra.Command {
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
				return usageError{err}
			}
			seeds := viper.GetInt("seeds")
			if seeds < 1 {
				return usageError{fmt.Errorf("--seeds is %d, want at least 1", seeds)}
			}
			r := experiment.Runner{
				Options: experiment.Options{Seeds: seeds, Quick: viper.GetBool("quick"), Rules: list("rules"), Attacks: list("attacks")},
				Dir:     viper.GetString("out"), Jobs: viper.GetInt("jobs"), Version: abci.Version, Log: os.Stderr,
				Command: experimentLine(cmd, args), Data: mnist.Embedded,
			}
			if err := r.Run(cmd.Context(), chosen...); err != nil {
				return err
			}
			for _, e := range chosen {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(r.Dir, e.Name+".svg"))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Int("seeds", 1, "repetitions with seeds 1 to this; more than one gives bands")
	f.Bool("quick", false, "fewer rounds and cells: to see that it works, not to cite")
	f.String("out", filepath.Join("build", "figures"), "folder of the files")
	f.StringSlice("rules", nil, "rules of the experiment attacks, or all (default: those that the full figure shows)")
	f.StringSlice("attacks", nil, "attacks of the experiment attacks, or all (default: all, in a quick run five)")
	f.Int("jobs", 0, "trainings at a time (default: one a core)")
	return cmd
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
		if f := cmd.Flags().Lookup(flag); f.Changed {
			value := strings.Trim(f.Value.String(), "[]")
			if flag == "quick" {
				line += " --quick=" + value
			} else {
				line += " --" + flag + " " + value
			}
		}
	}
	return strings.ReplaceAll(line, "--quick=true", "--quick")
}
