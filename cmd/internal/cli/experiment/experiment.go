// Package experiment has the command that computes figures.
package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/internal/spelling"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment"
)

// Command returns the command that computes figures.
func Command() *cobra.Command {
	var names strings.Builder
	for _, e := range experiment.All() {
		fmt.Fprintf(&names, "  %-12s %s\n", e.Name, e.Title)
	}
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "experiment NAME...",
		Short: "Compute the paper's figures and ours, as CSV and SVG",
		Long: "Compute the paper's figures and ours. Each becomes NAME.csv and NAME.svg in --out, with the command, the\n" +
			"seeds and the version inside. What was finished before is kept in --out/cells and not computed again.\n\n" +
			names.String() +
			"  all          every one of them",
		Example: "  spdl-lab experiment convergence --seeds 3\n  spdl-lab experiment all --quick --out " +
			"/tmp/figures && spdl-lab report /tmp/figures",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: append(experiment.Names(), "all"),
	}, o.run)
	o.declare(cmd)
	return cmd
}

type options struct {
	experiment.Options
	out   string
	jobs  int
	print bool

	grid  pflag.FlagSet // the flags of the experiment attacks
	shape pflag.FlagSet // the flags that decide what is in the files
}

func (o *options) declare(cmd *cobra.Command) {
	command.Flag(cmd, &o.Rules, "rules", nil, "attacks: rules, preset for the preset's, or all (default: those that the "+
		"full figure shows)").Values(append(rules.Names(), "preset", "all")...)
	known := append(attack.Names(), "all")
	some := slices.DeleteFunc(attack.Names(), func(x string) bool { return strings.Contains(x, "+") })
	for _, name := range attack.Names() {
		known = append(known, attack.AwarePrefix+name)
	}
	command.Flag(cmd, &o.Attacks, "attacks", nil, "attacks: which, with or without aware+, as all are that, or all "+
		"(default: all, in a quick run four): "+strings.Join(some, ", ")+
		"; docs/RULES.md has their variants").Values(known...)
	command.Flag(cmd, &o.Nodes, "nodes", nil, "attacks: participants, from 4 on without --byzantine (default 20)")
	command.Flag(cmd, &o.Epsilons, "epsilon", nil, "attacks: privacy budgets, 0 for no noise (default 4,0)")
	command.Flag(cmd, &o.Alphas, "dirichlet", nil, "attacks: Dirichlet parameters, 0 for an even partition (default 0)")
	command.Optional(cmd, &o.Byzantine, "byzantine", "attacks: attackers (default: as many as the chain tolerates)")
	command.Flag(cmd, &o.Rounds, "rounds", 0, "attacks: rounds of a training, for which noise and learning rate "+
		"are then set (default: the preset's)")
	command.Optional(cmd, &o.Momentum, "worker-momentum", "attacks: weight of earlier gradients in a participant's "+
		"vector, 1 for sums of gradients (default: the preset's)")
	command.Flag(cmd, &o.Rushing, "rushing", false, "attacks: the chain takes no commitments, so attackers see the "+
		"honest gradients of the round before they send theirs")
	o.grid.AddFlagSet(cmd.Flags())
	command.Flag(cmd, &o.Seeds, "seeds", 1, "repetitions with other seeds; more than one gives bands (attacks beside "+
		"others: the first seed alone)")
	command.Flag(cmd, &o.First, "first-seed", 1, "the first seed")
	command.Flag(cmd, &o.Quick, "quick", false, "fewer rounds and cells: to see that it works, not to cite")
	command.Flag(cmd, &o.NoLive, "no-live", false, "do not repeat a training of each figure on real nodes, which comes "+
		"last (latency is measured on them in any case)")
	command.Flag(cmd, &o.Validation, "validation", false, "measure on a sixth of the training set that nobody trains on, "+
		"not on the test set, and print the tables")
	o.shape.AddFlagSet(cmd.Flags())
	command.Flag(cmd, &o.out, "out", filepath.Join("build", "figures"), "folder of the files (a quick run's: with -quick)")
	command.Flag(cmd, &o.print, "print", false, "print the tables in place of the files' names")
	command.Flag(cmd, &o.jobs, "jobs", 0, "trainings at a time (default: one a core)").Positive()
}

func (o *options) run(r *command.Run, args []string) error {
	for i, name := range o.Attacks {
		o.Attacks[i] = strings.TrimPrefix(name, attack.AwarePrefix)
	}
	chosen, err := experiments(args)
	if err != nil {
		return command.Usage(err)
	}
	if err := o.check(chosen); err != nil {
		return command.Usage(err)
	}
	version, err := command.Build()
	if err != nil {
		return err
	}
	runner := experiment.Runner{
		Options: o.Options, Dir: o.out, Jobs: o.jobs, Version: version, Log: r.Err,
		Command: "spdl-lab experiment " + strings.Join(args, " ") + command.GivenIn(&o.shape), Data: mnist.Embedded,
	}
	if o.Quick && !r.Given(&o.out) {
		runner.Dir += "-quick"
	}
	if err := runner.Run(r.Context, chosen...); err != nil {
		return err
	}
	files := make([]string, len(chosen))
	for i, e := range chosen {
		files[i] = filepath.Join(runner.Dir, e.Name+".svg")
	}
	if !o.print && !o.Validation {
		return r.Show(map[string][]string{"files": files}, command.Line(strings.Join(files, "\n")))
	}
	return show(r, runner.Dir, chosen)
}

// check returns an error if the flags contradict each other, or a chosen experiment rejects them.
func (o *options) check(chosen []experiment.Experiment) error {
	grid := slices.ContainsFunc(chosen, func(e experiment.Experiment) bool { return e.Name == "attacks" })
	switch {
	case o.Seeds < 1 || o.Seeds > 1000:
		return fmt.Errorf("--seeds is %d, want 1 to 1000", o.Seeds)
	case o.First < 1 || o.First > 1<<30:
		return fmt.Errorf("--first-seed is %d, want 1 to 2^30", o.First)
	case !grid && command.GivenIn(&o.grid) != "":
		return fmt.Errorf("%s: flags of the experiment attacks, which is not asked for",
			strings.TrimSpace(command.GivenIn(&o.grid)))
	}
	for _, e := range chosen {
		if err := e.Check(o.Options); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// experiments returns the named experiments, in order, each once.
func experiments(names []string) (chosen []experiment.Experiment, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		some := experiment.All()
		if name != "all" {
			e, err := experiment.Lookup(name)
			if err != nil {
				return nil, fmt.Errorf("%w%s", err, spelling.Suggest(name, experiment.Names()))
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
