// Package shape has the flags that shape the parameters of an epoch, for a genesis and
// for the epochs that follow.
package shape

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// Flags shape the parameters of an epoch; base is what they change.
func Flags(cmd *cobra.Command, base string) {
	f := cmd.Flags()
	f.String("params", "", "JSON file of parameters, as spdl query params prints them (default: "+base+")")
	f.String("preset", "", "parameters by name: "+strings.Join(preset.Names(), ", ")+" (default: "+base+")")
	f.Uint64("rounds", 0, "rounds (default: theirs)")
	f.String("rule", "", "aggregation rule (default: theirs)")
	f.Int("byzantine", -1, "Byzantine participants that the rule withstands (default: theirs)")
	f.Float64("epsilon", 0, "privacy budget of every participant, over all epochs (default: theirs, or what the rounds cost)")
	command.NoDefault(f, "byzantine")
}

// CheckFlags refuses what the flags cannot say, whoever is asked next.
func CheckFlags() error {
	name := viper.GetString("preset")
	switch {
	case name != "" && viper.GetString("params") != "":
		return command.Usage(errors.New("--params and --preset: one of them"))
	case viper.IsSet("byzantine") && viper.GetInt("byzantine") < 0:
		return command.Usage(fmt.Errorf("--byzantine is %d, want at least 0", viper.GetInt("byzantine")))
	}
	if err := command.ZeroFlags("rounds"); err != nil {
		return command.Usage(err)
	}
	if name != "" {
		if _, err := preset.New(name, 1); err != nil {
			return command.Usage(err)
		}
	}
	return nil
}

// Params gives the parameters of the flags for n participants, valid, and
// prints what weakens a guarantee.
func Params(n int, base func() (params.Params, error), warnings io.Writer) (p params.Params, err error) {
	if err := CheckFlags(); err != nil {
		return p, err
	}
	file, name := viper.GetString("params"), viper.GetString("preset")
	switch {
	case file != "":
		p, err = readParams(file)
	case name != "":
		if p, err = preset.New(name, n); err != nil {
			err = command.Usage(err)
		}
	default:
		p, err = base()
	}
	if err != nil {
		return p, err
	}
	if rounds := viper.GetUint64("rounds"); rounds > 0 {
		p.Training.Rounds = rounds
	}
	if rule := viper.GetString("rule"); rule != "" {
		p.Rule.Name = rule
	}
	switch f, most := viper.GetInt("byzantine"), (n-1)/3; {
	case f > most:
		return p, command.Usage(fmt.Errorf("--byzantine is %d with %d participants, want 0 to %d (N >= 3f+1)", f, n, most))
	case f >= 0:
		p.Rule.Byzantine = uint32(f)
	}
	if viper.IsSet("epsilon") {
		p.Privacy.Epsilon = viper.GetFloat64("epsilon")
	}
	if err := account(&p); err != nil {
		return p, command.Usage(err)
	}
	weak, err := p.Validate(n)
	if err != nil {
		return p, command.Usage(fmt.Errorf("parameters for %d participants: %w", n, err))
	}
	for _, w := range weak {
		fmt.Fprintln(warnings, "warning:", command.Plain(w))
	}
	return p, nil
}

// account fills in the ledger. A budget that was asked for and does not pay for
// all rounds is refused, where a preset's is raised.
func account(p *params.Params) error {
	asked := p.Privacy.Epsilon
	if viper.IsSet("epsilon") && !(asked > 0 && asked <= math.MaxFloat64) {
		return fmt.Errorf("--epsilon is %g, want above 0", asked)
	}
	if err := preset.Account(p); err != nil || !viper.IsSet("epsilon") || p.Privacy.Epsilon == asked {
		return err
	}
	if len(p.Privacy.Cost) == 0 {
		return fmt.Errorf("--epsilon %g with mechanism %q, which guarantees none", asked, p.Privacy.Mechanism)
	}
	cost, err := preset.EpsilonAfter(p.Privacy, p.Training.Rounds)
	if err != nil {
		return err
	}
	return fmt.Errorf("--epsilon %g does not pay for %d rounds, which cost %.4g at delta %g: take fewer rounds, more noise or a larger budget",
		asked, p.Training.Rounds, cost, p.Privacy.Delta)
}

// readParams reads a file of parameters, which is a value of --params as a
// manifest is one of --manifest. Unknown fields are refused: a misspelt one must
// not become its zero value.
func readParams(file string) (p params.Params, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return p, command.Usage(fmt.Errorf("--params: %w", err))
	}
	if err := command.DecodeStrict(data, &p); err != nil {
		return p, command.Usage(fmt.Errorf("--params %s: %w", file, err))
	}
	return p, nil
}
