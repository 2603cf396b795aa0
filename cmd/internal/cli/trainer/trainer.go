// Package trainer has the commands for external models: one writes a study, the other checks its
// trainer.
package trainer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/templates"
)

// Commands returns the group of commands.
func Commands() *cobra.Command {
	return command.Group("trainer", "Check the program that computes the gradients of a model of your own", checkCommand())
}

// New returns the command that writes a study.
func New() *cobra.Command {
	var about []string
	for _, t := range templates.All() {
		about = append(about, fmt.Sprintf("  %-12s %s; needs %s", t.Name, t.About, t.Needs))
	}
	cmd := command.New(&cobra.Command{
		Use:   "new DIR",
		Short: "Write a study to a folder: a trainer in Python, parameters, the manifest of a localnet",
		Long: "Write a study to a folder: a trainer in Python, parameters, the manifest of a localnet. It runs as it " +
			"is:\nspdl testnet start --manifest DIR/net.toml. The templates:\n\n" + strings.Join(about, "\n"),
		Args: cobra.ExactArgs(1),
	}, runNew)
	f := cmd.Flags()
	f.String("template", templates.Names()[0], "template: "+strings.Join(templates.Names(), ", "))
	f.Int("validators", 4, "validators, among whom the template's data are dealt out")
	f.Uint64("rounds", 0, "rounds (default: the template's)")
	f.Float64("epsilon", 0, "privacy budget of every participant, which sets the noise (default: the template's)")
	f.String("clipping", "", "who clips an example's gradient: rows (SPDL) or sum (the trainer; default: the template's)")
	f.String("python", "python3", "the interpreter, as net.toml names it")
	command.Values(cmd, "template", templates.Names()...)
	command.Values(cmd, "clipping", params.ClippingRows, params.ClippingSum)
	return cmd
}

type newOptions struct {
	Template   string   `mapstructure:"template"`
	Validators int      `mapstructure:"validators"`
	Rounds     *uint64  `mapstructure:"rounds"`
	Epsilon    *float64 `mapstructure:"epsilon"`
	Clipping   string   `mapstructure:"clipping"`
	Python     string   `mapstructure:"python"`
}

func runNew(r *command.Run, o *newOptions, args []string) error {
	if err := errors.Join(command.Positive("validators", &o.Validators), command.Positive("rounds", o.Rounds),
		command.Positive("epsilon", o.Epsilon)); err != nil {
		return err
	}
	if o.Clipping != "" && o.Clipping != params.ClippingRows && o.Clipping != params.ClippingSum {
		return command.Usage(fmt.Errorf("--clipping is %q, want %q or %q", o.Clipping, params.ClippingRows,
			params.ClippingSum))
	}
	for _, t := range templates.All() {
		if t.Name != o.Template {
			continue
		}
		p, err := t.Write(args[0], templates.Options{
			Validators: o.Validators, Rounds: command.Or(o.Rounds, 0), Epsilon: command.Or(o.Epsilon, 0), Clipping: o.Clipping,
			Python: o.Python,
		})
		if err != nil {
			return err
		}
		next := "spdl testnet start --manifest " + filepath.Join(args[0], "net.toml")
		return r.Show(struct {
			Folder     string        `json:"folder"`
			Parameters params.Params `json:"params"`
			Next       string        `json:"next"`
		}{args[0], p, next}, command.Line(fmt.Sprintf("%s: %d parameters, %d rounds, epsilon %g, noise multiplier %g. It "+
			"needs %s. Run it:\n  %s",
			args[0], p.Model.Dim(), p.Training.Rounds, p.Privacy.Epsilon, p.Privacy.NoiseMultiplier, t.Needs, next)))
	}
	return command.Usage(fmt.Errorf("--template is %q, want one of %s", o.Template, strings.Join(templates.Names(), ", ")))
}

func checkCommand() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "check PROGRAM [ARGUMENT...]",
		Short: "Ask a trainer what one that breaks the privacy guarantee would answer wrongly",
		Long: "Ask a trainer what one that breaks the privacy guarantee would answer wrongly: batches that are empty, " +
			"single, shuffled,\n" +
			"repeated and without one example. It can refute that a trainer is sound, and cannot prove it. The model is " +
			"that of the\n" +
			"parameters. Exit codes: 0 nothing was refuted, 1 something was, 2 wrong use.",
		Example: "  spdl trainer check ./train.py\n  spdl trainer check python3 train.py --params params.json",
		Args:    cobra.MinimumNArgs(1),
	}, runCheck)
	f := cmd.Flags()
	f.String("params", "", "JSON file of the chain's parameters (default: params.json in the trainer's folder)")
	f.String("clipping", "", "check for rows or sum in place of what the parameters say")
	f.Int("batch", 64, "examples of a batch")
	f.Uint64("seed", 1, "of the batches and parameters that are asked for")
	f.Duration("timeout", time.Minute, "time for an answer")
	f.Int("part", 0, "the part of the data that HELLO names")
	f.Int("parts", 1, "the parts of the data that HELLO names")
	f.String("data", "", "the data that HELLO names")
	return cmd
}

type checkOptions struct {
	command.Timeout `mapstructure:",squash"`
	Params          string `mapstructure:"params"`
	Clipping        string `mapstructure:"clipping"`
	Batch           int    `mapstructure:"batch"`
	Seed            uint64 `mapstructure:"seed"`
	Part            int    `mapstructure:"part"`
	Parts           int    `mapstructure:"parts"`
	Data            string `mapstructure:"data"`
}

// ErrRefuted means that a trainer failed the check.
var ErrRefuted = errors.New("the trainer breaks its promises, and with it the privacy guarantee or the " +
	"training: see above")

func runCheck(r *command.Run, o *checkOptions, args []string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.Batch < 1 || o.Part < 0 || o.Part >= o.Parts {
		return command.Usage(fmt.Errorf("--batch %d, --part %d of --parts %d: want a batch of at least 1, and a part from "+
			"0 to one less than the parts", o.Batch, o.Part, o.Parts))
	}
	if o.Params == "" {
		o.Params = filepath.Join(filepath.Dir(script(args)), "params.json")
	}
	p, err := preset.Load(o.Params)
	if err != nil {
		return command.Usage(fmt.Errorf("--params: %w", err))
	}
	if o.Clipping != "" {
		p.Model.Clipping = o.Clipping
	}
	if p.Model.Kind != params.ModelExternal {
		return command.Usage(fmt.Errorf("%s: model.kind is %q, which has no trainer: want %q", o.Params, p.Model.Kind,
			params.ModelExternal))
	}
	if err := p.Model.ValidateExternal(); err != nil {
		return command.Usage(fmt.Errorf("%s: %w", o.Params, err))
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	report, err := trainer.Inspect(r.Context, trainer.Config{
		Argv: args, Dir: here, Timeout: o.Timeout.Timeout, Share: trainer.Share{Data: o.Data, Part: o.Part, Parts: o.Parts,
			Partition: "iid", Alpha: 1},
		Log: func(line string, _ ...any) { fmt.Fprintln(r.Err, command.Plain(line)) },
	}, p.Model, p.Privacy.Clip, o.Batch, o.Seed)
	if err != nil {
		return command.Usage(err)
	}
	if fits, ok := p.Privacy.Fits(report.Examples); !ok && report.Examples > 0 {
		r.Warn(fmt.Sprintf("the trainer has %d examples as part %d of %d, and privacy.batch of %s is for %d: with more, a "+
			"step takes longer and counts no more; with fewer, it counts less. Make the parameters with --examples, or "+
			"say --parts",
			report.Examples, o.Part, o.Parts, o.Params, fits))
	}
	if err := r.Show(report, func(w io.Writer) error { return reportText(w, report, p.Model.Clipping) }); err != nil {
		return err
	}
	if report.Refuted {
		return ErrRefuted
	}
	return nil
}

// script returns the argument that looks like the trainer's file.
func script(args []string) string {
	for _, a := range args {
		if strings.HasSuffix(a, ".py") {
			return a
		}
	}
	return args[0]
}

func reportText(w io.Writer, report trainer.Report, clipping string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range report.Findings {
		verdict := "ok"
		if !f.Met {
			verdict = "FAILED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", verdict, f.Demand, command.Plain(f.Note))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	rests := "SPDL clips: the guarantee rests on rows that depend on their own example alone."
	if clipping == params.ClippingSum {
		rests = "The trainer clips: the guarantee rests on the trainer."
	}
	_, err := fmt.Fprintln(w, rests, "This check can refute a trainer, not prove it.")
	return err
}
