// Package experiment has the command that computes figures.
package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment"
)

// Command returns the command that computes figures.
func Command() *cobra.Command {
	var names strings.Builder
	for _, e := range experiment.All() {
		fmt.Fprintf(&names, "  %-12s %s\n", e.Name, e.Title)
	}
	cmd := command.New(&cobra.Command{
		Use:   "experiment NAME...",
		Short: "Compute the paper's figures and ours: NAME.csv, .svg and .png",
		Long: "Compute the paper's figures and ours. Each becomes NAME.csv, NAME.svg and NAME.png in --out, with the " +
			"command, the\n" +
			"seeds and the version inside. What was finished before is kept in --out/cells and not computed again.\n\n" +
			names.String() +
			"  all          every one of them",
		Example: "  spdl-figures experiment convergence --seeds 3\n  spdl-figures experiment all --quick --out " +
			"/tmp/figures && spdl-figures report /tmp/figures",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: append(experiment.Names(), "all"),
	}, func(r *command.Run, o *options, args []string) error {
		chosen, err := experiments(args)
		if err != nil {
			return command.Usage(err)
		}
		chosenOptions, err := o.check(chosen)
		if err != nil {
			return command.Usage(err)
		}
		version, err := command.Build()
		if err != nil {
			return err
		}
		runner := experiment.Runner{
			Options: chosenOptions, Dir: command.Or(o.Out, figures), Jobs: o.Jobs, Version: version, Log: r.Err,
			Command: o.line(args), Data: mnist.Embedded,
		}
		if runner.Quick && o.Out == nil {
			runner.Dir += "-quick"
		}
		if err := runner.Run(r.Context, chosen...); err != nil {
			return err
		}
		files := make([]string, len(chosen))
		for i, e := range chosen {
			files[i] = filepath.Join(runner.Dir, e.Name+".svg")
		}
		if !o.Print && !runner.Validation {
			return r.Show(map[string][]string{"files": files}, command.Line(strings.Join(files, "\n")))
		}
		return show(r, runner.Dir, chosen)
	})
	f := cmd.Flags()
	f.Int("seeds", 1, "repetitions with other seeds; more than one gives bands (attacks beside others: the first "+
		"seed alone)")
	f.Uint64("first-seed", 1, "the first seed")
	f.Bool("quick", false, "fewer rounds and cells: to see that it works, not to cite")
	f.Bool("no-live", false, "do not repeat a training of each figure on real nodes, which comes last (latency is "+
		"measured on them in any case)")
	f.String("out", figures, "folder of the files (of a quick run: figures-quick beside it)")
	gridFlags(cmd)
	f.Bool("validation", false, "measure on a sixth of the training set that nobody trains on, not on the test set, "+
		"and print the tables")
	f.Bool("print", false, "print the tables in place of the files' names")
	f.Int("jobs", 0, "trainings at a time (default: one a core)")
	return cmd
}

// figures is the default of --out.
var figures = filepath.Join("build", "figures")

type options struct {
	Seeds      int     `mapstructure:"seeds"`
	Quick      bool    `mapstructure:"quick"`
	NoLive     bool    `mapstructure:"no-live"`
	Out        *string `mapstructure:"out"`
	Jobs       int     `mapstructure:"jobs"`
	First      uint64  `mapstructure:"first-seed"`
	Validation bool    `mapstructure:"validation"`
	Print      bool    `mapstructure:"print"`
	grid       `mapstructure:",squash"`
}

// check returns the options of the chosen experiments, or an error if one of them rejects them.
func (given *options) check(chosen []experiment.Experiment) (experiment.Options, error) {
	o := experiment.Options{Seeds: given.Seeds, First: given.First, Quick: given.Quick, NoLive: given.NoLive,
		Validation: given.Validation}
	given.set(&o)
	grid := slices.ContainsFunc(chosen, func(e experiment.Experiment) bool { return e.Name == "attacks" })
	switch {
	case o.Seeds < 1 || o.Seeds > 1000:
		return o, fmt.Errorf("--seeds is %d, want 1 to 1000", o.Seeds)
	case given.Jobs < 0:
		return o, fmt.Errorf("--jobs is %d, want at least 1, or 0 for one a core", given.Jobs)
	case given.First < 1 || given.First > 1<<30:
		return o, fmt.Errorf("--first-seed is %d, want 1 to 2^30", given.First)
	case !grid && given.grid.line() != "":
		return o, fmt.Errorf("%s: flags of the experiment attacks, which is not asked for",
			strings.TrimSpace(given.grid.line()))
	}
	for _, e := range chosen {
		if err := e.Check(o); err != nil {
			return o, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return o, nil
}

// experiments returns the named experiments, in order, each once.
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

// line returns the command that makes the same files, in any folder.
func (given *options) line(names []string) string {
	line := "spdl-figures experiment " + strings.Join(names, " ")
	if given.Seeds != 1 {
		line += fmt.Sprintf(" --seeds %d", given.Seeds)
	}
	if given.Quick {
		line += " --quick"
	}
	if given.NoLive {
		line += " --no-live"
	}
	if given.First != 1 {
		line += fmt.Sprintf(" --first-seed %d", given.First)
	}
	if given.Validation {
		line += " --validation"
	}
	return line + given.grid.line()
}
