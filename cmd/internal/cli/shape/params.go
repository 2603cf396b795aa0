// Package shape has the flags that shape the parameters of an epoch, for a genesis and
// for the epochs that follow.
package shape

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/krum/rules"
)

// Options shape the parameters of an epoch.
type Options struct {
	Params    string   `mapstructure:"params"`
	Preset    string   `mapstructure:"preset"`
	Model     string   `mapstructure:"model"`
	Data      string   `mapstructure:"data"`
	Label     string   `mapstructure:"label"`
	Examples  *int     `mapstructure:"examples"`
	Rounds    *uint64  `mapstructure:"rounds"`
	Rule      string   `mapstructure:"rule"`
	Byzantine *int     `mapstructure:"byzantine"`
	Tolerance *int64   `mapstructure:"tolerance"`
	Epsilon   *float64 `mapstructure:"epsilon"`
	Reveal    *bool    `mapstructure:"commit-reveal"`
}

// Flags adds the flags of Options; base names the parameters that they change.
func Flags(cmd *cobra.Command, base string) {
	f := cmd.Flags()
	f.String("params", "", "JSON file of parameters, as spdl query params prints them (default: "+base+")")
	f.String("preset", "", "parameters by name: "+strings.Join(preset.AllNames(), ", ")+" (default: "+base+")")
	f.String("model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	f.String("data", "", "folder of IDX files, or CSV file, whose inputs and classes the preset's model gets; of a "+
		"table also the ends of its columns, which are then public")
	f.String("label", "", "column of the labels in the CSV file")
	f.Int("examples", 0, "examples of each participant (default: as many as the data give)")
	f.Uint64("rounds", 0, "rounds (default: as the parameters have it)")
	f.String("rule", "", "aggregation rule (default: as the parameters have it)")
	f.Int("byzantine", 0, "Byzantine participants that the rule withstands (default: as the parameters have it)")
	f.Int64("tolerance", 0, "delta: grid steps that a leader's aggregate may be off in a coordinate (default: as the "+
		"parameters have it)")
	f.Float64("epsilon", 0, "privacy budget of every participant, over all epochs (default: as the parameters have it, "+
		"or what the rounds cost)")
	f.Bool("commit-reveal", false, "commit to gradients before any is out, which takes a height more a round (default: "+
		"as the parameters have it)")
	command.Values(cmd, "preset", preset.AllNames()...)
	command.Values(cmd, "rule", rules.Names()...)
}

// Check rejects options that contradict each other or are out of range for every chain.
func (o *Options) Check() error {
	switch {
	case o.Preset != "" && o.Params != "":
		return command.Usage(errors.New("--params and --preset: one of them"))
	case o.Params != "" && (o.Data+o.Label+o.Model != "" || o.Examples != nil):
		return command.Usage(errors.New("--params with --data, --label, --model or --examples, which are for a preset: " +
			"the parameters have them"))
	case o.Preset+o.Data == "" && (o.Model != "" || o.Examples != nil):
		return command.Usage(errors.New("--model and --examples shape a preset: name it with --preset"))
	case o.Label != "" && o.Data == "":
		return command.Usage(fmt.Errorf("--label %q names a column of a CSV file: name the file with --data", o.Label))
	case o.Byzantine != nil && *o.Byzantine < 0:
		return command.Usage(fmt.Errorf("--byzantine is %d, want at least 0", *o.Byzantine))
	}
	if err := errors.Join(command.Positive("rounds", o.Rounds), command.Positive("examples", o.Examples)); err != nil {
		return err
	}
	return o.checkPreset()
}

// checkPreset rejects an unknown preset.
func (o *Options) checkPreset() error {
	if o.Preset != "" && o.Preset != preset.NameExternal {
		if _, err := preset.New(o.Preset, 1); err != nil {
			return command.Usage(err)
		}
	}
	return nil
}

// Shape returns valid parameters for n participants, and calls warn for each setting that weakens a
// guarantee.
func (o *Options) Shape(n int, base func() (params.Params, error), warn func(string)) (p params.Params, err error) {
	if err := o.Check(); err != nil {
		return p, err
	}
	switch {
	case o.Params != "":
		p, err = readParams(o.Params)
	case o.Preset+o.Data != "":
		if p, err = o.preset(n); err != nil {
			err = command.Usage(err)
		}
	default:
		p, err = base()
	}
	if err != nil {
		return p, err
	}
	if err := o.change(&p, n); err != nil {
		return p, err
	}
	if err := o.account(&p); err != nil {
		return p, command.Usage(err)
	}
	weak, err := p.Validate(n)
	if err != nil {
		return p, command.Usage(fmt.Errorf("parameters for %d participants: %w", n, err))
	}
	for _, w := range weak {
		warn(w)
	}
	return p, nil
}

// preset returns the parameters of a preset, with the data and the model of the options.
func (o *Options) preset(n int) (params.Params, error) {
	own := preset.Own{Examples: command.Or(o.Examples, 0), Rounds: command.Or(o.Rounds, 0),
		Epsilon: command.Or(o.Epsilon, 0)}
	if o.Model != "" {
		m, err := preset.LoadModel(o.Model)
		if err != nil {
			return params.Params{}, fmt.Errorf("--model: %w", err)
		}
		own.Model = &m
	}
	if o.Data != "" {
		d, err := preset.ReadData(o.Data, o.Label)
		if err != nil {
			return params.Params{}, fmt.Errorf("--data: %w", err)
		}
		if own.Data = &d; own.Examples == 0 {
			own.Examples = d.Examples // the data are those of one participant
		}
	}
	return preset.Make(cmp.Or(o.Preset, preset.Names()[0]), n, own)
}

// change applies the options to the parameters for n participants.
func (o *Options) change(p *params.Params, n int) error {
	if most := params.MaxByzantine(n); o.Byzantine != nil && *o.Byzantine > most {
		return command.Usage(fmt.Errorf("--byzantine is %d with %d participants, want 0 to %d (N >= 3f+1)", *o.Byzantine, n,
			most))
	}
	preset.SetRounds(p, command.Or(o.Rounds, p.Training.Rounds))
	p.Rule.Tolerance = command.Or(o.Tolerance, p.Rule.Tolerance)
	p.Election.CommitReveal = command.Or(o.Reveal, p.Election.CommitReveal)
	p.Privacy.Epsilon = command.Or(o.Epsilon, p.Privacy.Epsilon)
	if o.Rule != "" {
		p.Rule.Name = o.Rule
	}
	if o.Byzantine != nil {
		p.Rule.Byzantine = uint32(*o.Byzantine)
	}
	return nil
}

// account fills in the ledger. If the budget does not pay for all rounds, it rejects one of
// --epsilon and raises any other.
func (o *Options) account(p *params.Params) error {
	asked := p.Privacy.Epsilon
	if o.Epsilon != nil && !(asked > 0 && asked <= math.MaxFloat64) {
		return fmt.Errorf("--epsilon is %g, want above 0", asked)
	}
	if err := preset.Account(p); err != nil || o.Epsilon == nil || p.Privacy.Epsilon == asked {
		return err
	}
	if len(p.Privacy.Cost) == 0 {
		return fmt.Errorf("--epsilon %g with mechanism %q, which guarantees none", asked, p.Privacy.Mechanism)
	}
	cost, err := preset.EpsilonAfter(p.Privacy, p.Training.Rounds)
	if err != nil {
		return err
	}
	return fmt.Errorf("--epsilon %g does not pay for %d rounds, which cost %.4g at delta %g: take fewer rounds, more "+
		"noise or a larger budget",
		asked, p.Training.Rounds, cost, p.Privacy.Delta)
}

// readParams reads the file of --params. Its errors are UsageErrors.
func readParams(file string) (params.Params, error) {
	p, err := preset.Load(file)
	if err != nil {
		err = command.Usage(fmt.Errorf("--params: %w", err))
	}
	return p, err
}
