// Package shape has the flags for the parameters of an epoch, in a genesis and in a proposal of a
// later epoch.
package shape

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/krum/rules"
)

// Options shape the parameters of an epoch.
type Options struct {
	params, preset, model, data, label, group, schema, rule string

	examples, byzantine *int
	batch               *int
	rounds              *uint64
	tolerance           *int64
	epsilon, learning   *float64
	reveal              *bool
}

// Flags declares the options; base names the parameters that they change.
func (o *Options) Flags(cmd *cobra.Command, base string) {
	const same = " (default: as the parameters have it)"
	command.Flag(cmd, &o.params, "params", "", "JSON file of parameters, as spdl query params prints them (default: "+
		base+")")
	command.Flag(cmd, &o.preset, "preset", "", "parameters by name: "+strings.Join(preset.AllNames(), ", ")+
		" (default: "+base+")").Values(preset.AllNames()...)
	command.Flag(cmd, &o.model, "model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	command.Flag(cmd, &o.data, "data", "", "folder of IDX files, or CSV file, whose inputs and classes the preset's "+
		"model gets; of a table also the ends of its columns, which are then public")
	command.TableFlags(cmd, &o.label, &o.group, &o.schema, ", and without --data no file is read")
	command.Optional(cmd, &o.examples, "examples", "examples of each participant (default: as many as the data give)").
		Positive()
	command.Optional(cmd, &o.rounds, "rounds", "rounds"+same).Positive()
	command.Flag(cmd, &o.rule, "rule", "", "aggregation rule"+same).Values(rules.Names()...)
	command.Optional(cmd, &o.byzantine, "byzantine", "Byzantine participants that the rule withstands"+same)
	command.Optional(cmd, &o.tolerance, "tolerance", "delta: grid steps that a leader's aggregate may be off in a "+
		"coordinate"+same)
	command.Optional(cmd, &o.epsilon, "epsilon", "privacy budget of every participant, over all epochs (default: as the "+
		"parameters have it, or what the rounds cost)")
	command.Optional(cmd, &o.batch, "batch", "expected examples behind a gradient; the sampling rate and the noise "+
		"follow"+same).Positive()
	command.Optional(cmd, &o.learning, "learning-rate", "learning rate (default: as the parameters have it, less where "+
		"--batch takes more noise)").Positive()
	command.Optional(cmd, &o.reveal, "commit-reveal", "commit to gradients before any is out, which takes a height more "+
		"a round"+same)
}

// Check rejects options that contradict each other or are out of range for every chain.
func (o *Options) Check() error {
	switch {
	case o.preset != "" && o.params != "":
		return command.Usage(errors.New("--params and --preset: one of them"))
	case o.params != "" && (o.data+o.label+o.group+o.schema+o.model != "" || o.examples != nil):
		return command.Usage(errors.New("--params with --data, --label, --group, --schema, --model or --examples, " +
			"which are for a preset: the parameters have them"))
	case o.preset+o.data+o.schema == "" && (o.model != "" || o.examples != nil):
		return command.Usage(errors.New("--model and --examples shape a preset: name it with --preset"))
	case o.byzantine != nil && *o.byzantine < 0:
		return command.Usage(fmt.Errorf("--byzantine is %d, want at least 0", *o.byzantine))
	case o.epsilon != nil && !(*o.epsilon > 0 && *o.epsilon <= math.MaxFloat64):
		return command.Usage(fmt.Errorf("--epsilon is %g, want above 0", *o.epsilon))
	case o.data == "":
		if err := o.checkWithoutData(); err != nil {
			return command.Usage(err)
		}
	}
	return o.checkPreset()
}

// checkWithoutData rejects options that --data has to go with.
func (o *Options) checkWithoutData() error {
	switch {
	case o.label != "":
		return fmt.Errorf("--label %q names a column of a CSV file: name the file with --data", o.label)
	case o.schema != "" && o.examples == nil:
		return errors.New("--schema without --data: give the examples of each participant with --examples")
	case o.group != "":
		return fmt.Errorf("--group %q names a column of a CSV file: name the file with --data", o.group)
	}
	return nil
}

// checkPreset rejects an unknown preset.
func (o *Options) checkPreset() error {
	if o.preset != "" && o.preset != preset.NameExternal {
		if _, err := preset.New(o.preset, 1); err != nil {
			return command.Usage(err)
		}
	}
	return nil
}

// Shape returns valid parameters for n participants, and calls warn for each setting that weakens a
// guarantee. Options that name no parameters change those of base, or without a base the first preset.
func (o *Options) Shape(n int, base func() (params.Params, error), warn func(string)) (p params.Params, err error) {
	if err := o.Check(); err != nil {
		return p, err
	}
	switch {
	case o.params != "":
		p, err = readParams(o.params)
	case base == nil || o.preset+o.data+o.schema != "":
		if p, err = o.fromPreset(n, warn); err != nil {
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

// fromPreset returns the parameters of a preset, with the data and the model of the options. It
// warns if a participant's rows set the ends of a table's columns, and of classes in doubt.
func (o *Options) fromPreset(n int, warn func(string)) (params.Params, error) {
	own := preset.Own{Examples: command.Or(o.examples, 0), Rounds: command.Or(o.rounds, 0),
		Epsilon: command.Or(o.epsilon, 0)}
	if o.model != "" {
		m, err := preset.LoadModel(o.model)
		if err != nil {
			return params.Params{}, fmt.Errorf("--model: %w", err)
		}
		own.Model = &m
	}
	if o.data+o.schema != "" {
		d, err := preset.Source{Path: o.data, Label: o.label, Group: o.group, Schema: o.schema}.Read()
		if err != nil {
			return params.Params{}, fmt.Errorf("%s: %w", cmp.Or(o.schema, o.data), err)
		}
		// A file of no more rows than two ends, or all classes, need holds agreed bounds.
		if d.Table != nil && o.schema == "" && d.Examples > max(2, len(d.Table.Classes)) {
			warn(fmt.Sprintf("%s: the ends of %d columns are the least and greatest of its rows, and public with the names of "+
				"%d classes; no epsilon pays for them: agree on bounds instead (--schema)", o.data,
				len(d.Table.Columns), len(d.Table.Classes)))
			doubts, err := table.Doubts(o.data, *d.Table)
			if err != nil {
				return params.Params{}, fmt.Errorf("%s: %w", o.data, err)
			}
			for _, doubt := range doubts {
				warn(o.data + ": " + doubt)
			}
		}
		if own.Data = &d; own.Examples == 0 {
			own.Examples = d.Examples // the data are those of one participant
		}
	}
	return preset.Make(cmp.Or(o.preset, preset.Names()[0]), n, own)
}

// change applies the options to the parameters for n participants.
func (o *Options) change(p *params.Params, n int) error {
	if most := params.MaxByzantine(n); o.byzantine != nil && *o.byzantine > most {
		return command.Usage(fmt.Errorf("--byzantine is %d with %d participants, want 0 to %d (N >= 3f+1)", *o.byzantine, n,
			most))
	}
	if most := params.MaxByzantine(n); o.byzantine == nil && int(p.Rule.Byzantine) > most {
		return command.Usage(fmt.Errorf("f is %d in these parameters, and %d participants withstand at most %d (N >= 3f+1): "+
			"--byzantine %d", p.Rule.Byzantine, n, most, most))
	}
	preset.SetRounds(p, command.Or(o.rounds, p.Training.Rounds))
	p.Rule.Tolerance = command.Or(o.tolerance, p.Rule.Tolerance)
	p.Election.CommitReveal = command.Or(o.reveal, p.Election.CommitReveal)
	p.Privacy.Epsilon = command.Or(o.epsilon, p.Privacy.Epsilon)
	if o.batch != nil {
		if err := preset.SetBatch(p, *o.batch); err != nil {
			return command.Usage(fmt.Errorf("--batch: %w", err))
		}
	}
	p.Training.LearningRate = command.Or(o.learning, p.Training.LearningRate)
	if o.rule != "" {
		p.Rule.Name = o.rule
	}
	if o.byzantine != nil {
		p.Rule.Byzantine = uint32(*o.byzantine)
	}
	return nil
}

// account fills in the ledger. If the budget does not pay for all rounds, it rejects one of
// --epsilon and raises any other.
func (o *Options) account(p *params.Params) error {
	asked := p.Privacy.Epsilon
	if err := preset.Account(p); err != nil || o.epsilon == nil || p.Privacy.Epsilon == asked {
		return err
	}
	if len(p.Privacy.Cost) == 0 {
		return fmt.Errorf("--epsilon %g with mechanism %q, which guarantees none", asked, p.Privacy.Mechanism)
	}
	cost, err := preset.EpsilonAfter(p.Privacy, p.Training.Rounds)
	if err != nil {
		return err
	}
	return fmt.Errorf("--epsilon %g %w for %d rounds, which cost %.4g at delta %g: take fewer rounds, more "+
		"noise or a larger budget", asked, ErrBudget, p.Training.Rounds, cost, p.Privacy.Delta)
}

// readParams reads the file of --params. Its errors are UsageErrors.
func readParams(file string) (params.Params, error) {
	p, err := preset.Load(file)
	if err != nil {
		err = command.Usage(fmt.Errorf("--params: %w", err))
	}
	return p, err
}
