package experiment

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment"
)

// grid holds the flags of the experiment attacks.
type grid struct {
	Rules     []string  `mapstructure:"rules"`
	Attacks   []string  `mapstructure:"attacks"`
	Nodes     []int     `mapstructure:"nodes"`
	Epsilons  []float64 `mapstructure:"epsilon"`
	Alphas    []float64 `mapstructure:"dirichlet"`
	Byzantine *int      `mapstructure:"byzantine"`
	Rounds    *uint64   `mapstructure:"rounds"`
	Rushing   bool      `mapstructure:"rushing"`
}

func gridFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSlice("rules", nil, "attacks: rules, preset for the preset's, or all (default: those that the full "+
		"figure shows)")
	f.StringSlice("attacks", nil, "attacks: which, or all (default: all, in a quick run four)")
	f.StringSlice("nodes", nil, "attacks: numbers of participants (default 20)")
	f.StringSlice("epsilon", nil, "attacks: privacy budgets, 0 for no noise (default 4,0)")
	f.StringSlice("dirichlet", nil, "attacks: parameters of Dirichlet partitions, 0 for an even one (default 0)")
	f.Int("byzantine", 0, "attacks: number of attackers (default: as many as the chain tolerates)")
	f.Uint64("rounds", 0, "attacks: rounds of a training, at most those of the preset, whose noise stays the same "+
		"(default: the preset's)")
	f.Bool("rushing", false, "attacks: the chain takes no commitments, so attackers see the honest gradients of the "+
		"round before they send theirs")
	command.Values(cmd, "rules", append(rules.Names(), "preset", "all")...)
	command.Values(cmd, "attacks", append(attack.Names(), "all")...)
}

// set fills the options of the experiment.
func (g grid) set(o *experiment.Options) {
	o.Rules, o.Attacks, o.Nodes, o.Epsilons, o.Alphas = list(g.Rules), list(g.Attacks), list(g.Nodes), list(g.Epsilons),
		list(g.Alphas)
	o.Byzantine = g.Byzantine
	o.Rounds, o.Rushing = command.Or(g.Rounds, 0), g.Rushing
}

// list returns nil for an empty list.
func list[T any](given []T) []T {
	if len(given) == 0 {
		return nil
	}
	return given
}

// line returns the given flags, each after a space.
func (g grid) line() string {
	line := flag("rules", g.Rules) + flag("attacks", g.Attacks) + flag("nodes", g.Nodes) + flag("epsilon", g.Epsilons) +
		flag("dirichlet", g.Alphas)
	if g.Byzantine != nil {
		line += flag("byzantine", []int{*g.Byzantine})
	}
	if g.Rounds != nil {
		line += flag("rounds", []uint64{*g.Rounds})
	}
	if g.Rushing {
		line += " --rushing"
	}
	return line
}

func flag[T any](name string, values []T) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf(" --%s %s", name, strings.Join(strings.Fields(strings.Trim(fmt.Sprint(values), "[]")), ","))
}
