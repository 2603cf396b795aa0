package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func trainerCheck() *cobra.Command {
	o := &checkOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "check PROGRAM [ARGUMENT...]",
		Short: "Ask a trainer what one that breaks the privacy guarantee would answer wrongly",
		Long: `Ask a trainer what one that breaks the privacy guarantee would answer wrongly: batches that are empty, single,
shuffled, repeated and without one example, and where the unit of privacy is a group, groups of equal rows. It
can refute that a trainer is sound, and cannot prove it. The model is that of the parameters. Exit codes: 0
nothing was refuted, 1 something was, 2 wrong use.`,
		Example: "  spdl trainer check ./train.py\n  spdl trainer check study/train.py --python /usr/bin/python3",
		Args:    cobra.MinimumNArgs(1),
	}, o.run)
	command.Flag(cmd, &o.file, "params", "", "JSON file of the chain's parameters (default: params.json in the trainer's "+
		"folder)")
	command.Flag(cmd, &o.clipping, "clipping", "", "check for rows or sum in place of what the parameters say").
		Values(params.ClippingRows, params.ClippingSum)
	command.Flag(cmd, &o.batch, "batch", 0, "examples of a batch (default: privacy.batch of the parameters)")
	command.Flag(cmd, &o.seed, "seed", 1, "of the batches and parameters that are asked for")
	command.Flag(cmd, &o.config.Timeout, "timeout", 5*time.Minute, "time for an answer").Positive()
	share := &o.config.Share
	command.Flag(cmd, &share.Part, "part", 0, "the part of the data that HELLO names")
	command.Flag(cmd, &share.Parts, "parts", 1, "the parts of the data that HELLO names")
	command.Flag(cmd, &share.Data, "data", "", "the data that HELLO names")
	command.Flag(cmd, &o.read, "read", nil, "further files and folders that the trainer may read, beside "+
		"worker.trainer_read of the home")
	command.SandboxFlag(cmd, &o.sandbox)
	command.Flag(cmd, &o.python, "python", "", "the interpreter that runs PROGRAM (default: as PROGRAM says)")
	return cmd
}

type checkOptions struct {
	file, clipping, python string
	sandbox                string // on or off
	read                   []string
	batch                  int
	seed                   uint64
	config                 trainer.Config
}

// ErrNotStarted means that a trainer ended before the first question.
var ErrNotStarted = errors.New("the trainer did not start")

// ErrRefuted means that a trainer failed the check.
var ErrRefuted = errors.New("the trainer breaks its promises, and with it the privacy guarantee or the " +
	"training: see above")

func (o *checkOptions) run(r *command.Run, args []string) error {
	config := o.config
	if share := config.Share; o.batch < 1 && r.Given(&o.batch) || share.Part < 0 || share.Part >= share.Parts {
		return command.Usage(fmt.Errorf("--batch %d, --part %d of --parts %d: want a batch of at least 1, and a part from "+
			"0 to one less than the parts", o.batch, share.Part, share.Parts))
	}
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() { // a study
		args = slices.Concat([]string{filepath.Join(args[0], "train.py")}, args[1:])
	}
	args = withPython(o.python, args)
	var err error
	if config.Sandbox, err = r.Sandbox(o.sandbox, filepath.Dir(script(args))); err != nil {
		return err
	}
	config.Sandbox.Read = append(config.Sandbox.Read, o.read...)
	config.Argv, config.Share.Partition, config.Share.Alpha = args, "iid", 1
	config.Log = func(line string, _ ...any) { fmt.Fprintln(r.Err, command.Plain(line)) }
	if err := config.Check(); err != nil {
		return command.Usage(fmt.Errorf("trainer: %w", err))
	}
	p, err := o.params(args)
	if err != nil {
		return command.Usage(err)
	}
	report, err := trainer.Inspect(r.Context, config, p.Model, p.Privacy, cmp.Or(o.batch, int(p.Privacy.Batch)), o.seed)
	if report.Failure = cmp.Or(report.Failure, r.Context.Err()); err != nil && r.Context.Err() == nil {
		return command.Usage(err)
	}
	if fits, ok := p.Privacy.Fits(report.Examples); !ok && report.Examples > 0 {
		r.Warn(fmt.Sprintf("the trainer has %d %s as part %d of %d, and privacy.batch of %s is for %d: with more, a "+
			"step takes longer and counts no more; with fewer, it counts less. Make the parameters with --examples, or "+
			"say --parts",
			report.Examples, p.Privacy.Units(), config.Share.Part, config.Share.Parts, o.file, fits))
	}
	if report.GroupsIgnored {
		r.Warn(trainer.GroupsIgnored)
	}
	if step := time.Duration(report.StepMS * float64(time.Millisecond)); step > patience {
		r.Warn(fmt.Sprintf("a step over %d %s takes %v, and rounds of a localnet wait %v or so: give it --patience %v, and "+
			"a chain a longer proposal.wait (docs/CONFIGURATION.md, Slow training steps)", report.Batch, p.Privacy.Units(),
			step.Round(time.Millisecond), patience, 2*(step+time.Second-1).Truncate(time.Second)+time.Second))
	}
	if err := r.Show(report, func(w io.Writer) { reportText(w, report, p) }); err != nil {
		return err
	}
	return verdict(r.Context, report)
}

// patience is about how long a localnet's rounds wait for a gradient.
const patience = 500 * time.Millisecond

// verdict returns the error for a report. A trainer that could not be asked has not broken a promise.
func verdict(ctx context.Context, report trainer.Report) error {
	var start *trainer.StartError
	var other *trainer.TensorError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; %s was found until then", map[bool]string{true: "what is above",
			false: "nothing"}[report.Refuted])
	case errors.As(report.Failure, &start) && start.Module != "":
		return fmt.Errorf("%w: %w", ErrNotStarted, lacks(ctx, start.Program, start.Module))
	case errors.As(report.Failure, &start):
		return fmt.Errorf("%w: see above", ErrNotStarted)
	case errors.Is(report.Failure, trainer.ErrLate):
		return fmt.Errorf("the check ended early: %w, within --timeout; what was asked before is above", report.Failure)
	case errors.As(report.Failure, &other):
		return fmt.Errorf("the trainer's model is not that of the parameters: %w", other)
	case report.Refuted:
		return ErrRefuted
	}
	return nil
}

// params returns the parameters that a check is for.
func (o *checkOptions) params(args []string) (params.Params, error) {
	o.file = cmp.Or(o.file, filepath.Join(filepath.Dir(script(args)), "params.json"))
	p, err := preset.Load(o.file)
	if err != nil {
		return p, fmt.Errorf("--params: %w", err)
	}
	p.Model.Clipping = cmp.Or(o.clipping, p.Model.Clipping)
	if p.Model.Kind != params.ModelExternal {
		return p, fmt.Errorf("%s: model.kind is %q, which has no trainer: want %q", o.file, p.Model.Kind,
			params.ModelExternal)
	}
	if err := p.Model.ValidateExternal(); err != nil {
		return p, fmt.Errorf("%s: %w", o.file, err)
	}
	return p, nil
}

// script returns the argument that looks like the trainer's file.
func script(args []string) string {
	return args[max(0, slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, ".py") }))]
}

func reportText(w io.Writer, report trainer.Report, p params.Params) {
	tensorText(w, report.Tensors)
	command.Table(w, "", report.Findings, func(f trainer.Finding) string {
		verdict := map[bool]string{true: "ok", false: "FAILED"}[f.Met]
		return fmt.Sprintf("%s\t%s\t%s", verdict, f.Demand, command.Plain(f.Note))
	})
	if report.Failure != nil {
		return
	}
	rests := "SPDL clips: the guarantee rests on rows that depend on their own example alone."
	switch {
	case p.Model.Clipping == params.ClippingSum:
		rests = "The trainer clips: the guarantee rests on the trainer."
	case p.Privacy.Unit == params.UnitGroup:
		rests = "SPDL clips: the guarantee rests on rows that depend on their own group alone, and on the groups that the " +
			"trainer names."
	}
	fmt.Fprintln(w, rests, "This check can refute a trainer, not prove it.")
}

// tensorText writes the table of a model's tensors beside those of the parameters.
func tensorText(w io.Writer, pairs []trainer.Pair) {
	if len(pairs) == 0 {
		return
	}
	command.Table(w, "TENSOR\tMODULE\tPARAMS\t", pairs, func(p trainer.Pair) string {
		verdict := map[bool]string{false: "DIFFERS"}[slices.Equal(p.Model, p.Params)]
		return fmt.Sprintf("%s\t%s\t%s\t%s", command.Plain(p.Name), shapeText(p.Model), shapeText(p.Params), verdict)
	})
	fmt.Fprintln(w)
}

func shapeText(shape []uint32) string {
	if shape == nil {
		return "-"
	}
	return fmt.Sprint(shape)
}

// Trainer returns the group of commands.
func Trainer() *cobra.Command {
	return command.Group("trainer", "Check and hash a trainer, the program of your own model",
		trainerCheck(), hashCommand(), csvCommand())
}
