package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/privacy/accountant"
)

// Origin has the options that name what parameters begin from: a file of parameters, or a preset with its data and
// its model.
type Origin struct{ Params, Preset, Model, Data, Label, Group, Schema string }

// Flags declares the options. known are the presets' names, otherwise is the default one, and base names what
// parameters begin from without these options.
func (o *Origin) Flags(cmd *cobra.Command, known []string, otherwise, base string) {
	command.Flag(cmd, &o.Params, "params", "", "JSON file of parameters, as spdl new writes and spdl query params prints "+
		"them, in place of a preset (default: "+base+")")
	about := "parameters by name: " + strings.Join(known, ", ") + "; " + preset.NameExternal + " needs --model"
	if otherwise == "" {
		about += " (default: " + base + ")"
	}
	command.Flag(cmd, &o.Preset, "preset", otherwise, about).Values(preset.AllNames()...)
	command.Flag(cmd, &o.Model, "model", "", "JSON file of the model for the preset external: kind, clipping, tensors")
	command.Flag(cmd, &o.Data, "data", "", "IDX files in a folder, CSV or Parquet, whose inputs and classes the preset's "+
		"model gets; of a table also the ends of its columns, which are then public")
	command.TableFlags(cmd, &o.Label, &o.Group, &o.Schema, ", and without --data no file is read")
}

// Check rejects a column without a file.
func (o *Origin) Check() error {
	for _, column := range [][2]string{{"label", o.Label}, {"group", o.Group}} {
		if column[1] != "" && o.Data == "" {
			return command.Usage(fmt.Errorf("--%s %q names a column of a CSV file: name the file with --data", column[0],
				column[1]))
		}
	}
	return nil
}

// Own reads the model and the data that the options name.
func (o *Origin) Own() (own preset.Own, err error) {
	if o.Model != "" {
		m, err := preset.LoadModel(o.Model)
		if err != nil {
			return own, fmt.Errorf("--model: %w", err)
		}
		own.Model = &m
	}
	if o.Data+o.Schema != "" {
		d, err := preset.Source{Path: o.Data, Label: o.Label, Group: o.Group, Schema: o.Schema}.Read()
		if err != nil && o.Schema != "" {
			return own, err
		} else if err != nil {
			return own, fmt.Errorf("%s: %w", o.Data, err)
		}
		own.Data = &d
	}
	return own, nil
}

// Options shape the parameters of an epoch.
type Options struct {
	Origin
	rule string

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
	o.Origin.Flags(cmd, preset.AllNames(), "", base)
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
	case o.Preset != "" && o.Params != "":
		return command.Usage(errors.New("--params and --preset: one of them"))
	case o.Params != "" && (o.Data+o.Label+o.Group+o.Schema+o.Model != "" || o.examples != nil):
		return command.Usage(errors.New("--params with --data, --label, --group, --schema, --model or --examples, " +
			"which are for a preset: the parameters have them"))
	case o.Preset+o.Data+o.Schema == "" && (o.Model != "" || o.examples != nil):
		return command.Usage(errors.New("--model and --examples shape a preset: name it with --preset"))
	case o.byzantine != nil && *o.byzantine < 0:
		return command.Usage(fmt.Errorf("--byzantine is %d, want at least 0", *o.byzantine))
	case o.epsilon != nil && !(*o.epsilon > 0 && *o.epsilon <= math.MaxFloat64):
		return command.Usage(fmt.Errorf("--epsilon is %g, want above 0", *o.epsilon))
	case o.Schema != "" && o.Data == "" && o.examples == nil:
		return command.Usage(errors.New("--schema without --data: give the examples of each participant with --examples"))
	}
	return o.Origin.Check()
}

// Shape returns valid parameters for n participants, and calls warn for each setting that weakens a
// guarantee. Options that name no parameters change those of base, or without a base the first preset.
func (o *Options) Shape(n int, base func() (params.Params, error), warn func(string)) (p params.Params, err error) {
	if err := o.Check(); err != nil {
		return p, err
	}
	switch {
	case o.Params != "":
		p, err = readParams(o.Params)
	case base == nil || o.Preset+o.Data+o.Schema != "":
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
	own, err := o.Own()
	if err != nil {
		return params.Params{}, err
	}
	own.Examples, own.Rounds = command.Or(o.examples, 0), command.Or(o.rounds, 0)
	own.Epsilon = command.Or(o.epsilon, 0)
	if d := own.Data; d != nil {
		// A file of no more rows than two ends, or all classes, need holds agreed bounds.
		if d.Table != nil && o.Schema == "" && d.Examples > max(2, len(d.Table.Classes)) {
			warn(fmt.Sprintf("%s: the ends of %d columns are the least and greatest of its rows, and public with the names of "+
				"%d classes; no epsilon pays for them: agree on bounds instead (--schema)", o.Data,
				len(d.Table.Columns), len(d.Table.Classes)))
			fit, err := table.FitOf(o.Data, *d.Table)
			if err != nil {
				return params.Params{}, fmt.Errorf("%s: %w", o.Data, err)
			}
			for _, doubt := range table.Doubts(d.Table.Classes, fit.Labels) {
				warn(o.Data + ": " + doubt)
			}
		}
		own.Examples = cmp.Or(own.Examples, d.Examples) // the data are those of one participant
	}
	return preset.Make(cmp.Or(o.Preset, preset.Names()[0]), n, own)
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
	p.Rule.Name = cmp.Or(o.rule, p.Rule.Name)
	p.Rule.Byzantine = uint32(command.Or(o.byzantine, int(p.Rule.Byzantine)))
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

// ErrBudget means that the budget of --epsilon is below the cost of the rounds alone.
var ErrBudget = errors.New("does not pay")

// AfterSpend adds to an ErrBudget the largest epsilon that a participant has spent before, which is nil if the chain
// does not know it.
func AfterSpend(err error, spent *float64) error {
	if !errors.Is(err, ErrBudget) || spent == nil {
		return err
	}
	return fmt.Errorf("%w; it is the budget over all epochs, of which participants have spent up to epsilon %s before",
		err, accountant.Text(*spent))
}

// CheckBudgets compares the remaining budgets of the active participants with the cost of an epoch. The
// warning names the participants that cannot pay for all rounds; it is "" if all can. broke lists the
// participants that cannot pay for a single round.
func CheckBudgets(members []app.Participant, p params.Params) (warning string, broke []uint32, err error) {
	var short []uint32
	var poorest app.Participant
	least := p.Training.Rounds
	for _, m := range members {
		left := p.Privacy.Participations(m.Spent)
		if !m.Active || left >= p.Training.Rounds {
			continue
		}
		if left == 0 {
			broke = append(broke, m.Index)
		}
		if short = append(short, m.Index); left < least {
			least, poorest = left, m
		}
	}
	if len(short) == 0 {
		return "", nil, nil
	}
	before, err := preset.EpsilonWith(p.Privacy, poorest.Spent, 0)
	if err != nil {
		return "", nil, err
	}
	need, err := preset.EpsilonWith(p.Privacy, poorest.Spent, p.Training.Rounds)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("participants %v have spent so much that epsilon %g does not pay for all rounds; it pays for %d "+
		"of the %d rounds of participant %d, which has spent epsilon %s before, and for all of them needs %.2f: --epsilon "+
		"is the budget over all epochs", short, p.Privacy.Epsilon, least, p.Training.Rounds, poorest.Index,
		accountant.Text(before), math.Ceil(need*100)/100), broke, nil
}
