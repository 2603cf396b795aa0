package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
	"github.com/spdl/spdl/cmd/spdl/templates"
)

// Model returns the group of commands.
func Model() *cobra.Command {
	return command.Group("model", "Export a model, measure it, adapt it, say what it gains",
		modelExport(), modelEval(), modelAdapt(), modelGain())
}

func modelExport() *cobra.Command {
	o := &exportOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "export",
		Short: "Write the model after a closed round to a file, with its card and proof",
		Long: `Write the model after a closed round to a file, with its card and proof.

Parameters are float64, in tensors by layer: hidden.weight and hidden.bias where
there is a hidden layer, output.weight and output.bias. A round whose model the
node does not keep is computed again from the nearest state and the blocks.`,
		Example: `  spdl model export --out m.safetensors
  spdl model export --round 12 --format npz --eval`,
	}, o.run)
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.round, "round", "", "closed round, or EPOCH/ROUND (default: the last)")
	command.Flag(cmd, &o.epoch, "epoch", "", "epoch of the round (default: the running one)")
	command.Flag(cmd, &o.format, "format", "", "format: "+strings.Join(modelfile.Formats(), ", ")+" (default: the ending "+
		"of --out, else "+modelfile.Safetensors+")").Values(modelfile.Formats()...)
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist, - for standard output (default: "+
		"model-EPOCH-ROUND.FORMAT)")
	command.Flag(cmd, &o.eval, "eval", false, "measure the accuracy on the test set and put it on the card")
	o.models.Flags(cmd, "a named --home")
	command.Flag(cmd, &o.timeout, "timeout", 10*time.Minute, "time for all questions").Positive()
	return cmd
}

type exportOptions struct {
	node                      string
	round, epoch, format, out string
	eval                      bool
	models                    command.Models
	timeout                   time.Duration
}

// fileFormat returns the format of the file: --format, or else what the ending of --out says.
func (o *exportOptions) fileFormat() (string, error) {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.out), "."))
	named := slices.Contains(modelfile.Formats(), ending)
	switch {
	case o.format != "" && named && o.format != ending:
		return "", command.Usage(fmt.Errorf("--format is %s, and --out is %s, which ends in .%s: leave one of them out",
			o.format, o.out, ending))
	case o.format == "" && !named && ending != "":
		return "", command.Usage(fmt.Errorf("--out is %s, want a name that ends in .%s, or --format beside it", o.out,
			strings.Join(modelfile.Formats(), ", .")))
	case o.format == "" && named:
		return ending, nil
	}
	return cmp.Or(o.format, modelfile.Safetensors), nil
}

// check returns --epoch and --round as arguments.
func (o *exportOptions) check() (args []string, err error) {
	format, err := o.fileFormat() // the flag keeps its value for the error
	if err != nil {
		return nil, err
	}
	o.format = format
	if o.out != "-" {
		if err := command.CheckOut("out", o.out, ""); err != nil {
			return nil, err
		}
	}
	switch {
	case o.epoch != "" && o.round == "":
		return nil, command.Usage(errors.New("--epoch needs --round"))
	case o.epoch != "":
		args = []string{o.epoch, o.round}
	case o.round != "":
		args = []string{o.round}
	}
	if _, err := watch.RoundNumbers(args); err != nil {
		return nil, err
	}
	return args, nil
}

func (o *exportOptions) run(r *command.Run, _ []string) error {
	args, err := o.check()
	if err != nil {
		return err
	}
	c, err := r.Client(o.node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context, o.timeout)
	defer cancel()
	epoch, t, err := watch.RoundArgument(ctx, c, args)
	if err != nil {
		return err
	}
	f, err := fetch.File(ctx, c, epoch, t, func(from, blocks uint64) {
		fmt.Fprintf(r.Err, "the node does not keep the model after epoch %d round %d: computing it from the state of "+
			"height %d and %d blocks\n", epoch, t, from, blocks)
	})
	if err != nil {
		return err
	}
	if templates.HasConstants(f.Card.Model) {
		r.Warn("the tensors are what training added to " + templates.WeightsFile + " of the study: merge the file with it " +
			"before you load it, python3 -m spdl_trainer merge")
	}
	if o.eval {
		m, err := measure(ctx, r, f, o.models)
		if err != nil {
			return err
		}
		f.Measured(m.Accuracy, m.claim())
	}
	data, err := f.Encode(o.format)
	if err != nil {
		return err
	}
	if o.out == "-" {
		_, err := r.Out.Write(data)
		return err
	}
	out := cmp.Or(o.out, fmt.Sprintf("model-%d-%d.%s", f.Card.Epoch, f.Card.Round, o.format))
	if err := command.WriteOut(out, data); err != nil {
		return err
	}
	return r.Show(struct {
		File  string               `json:"file"`
		Bytes int                  `json:"bytes"`
		Card  modelfile.CardReport `json:"card"`
	}{out, len(data), modelfile.CardReport{Card: f.Card}}, func(w io.Writer) {
		fmt.Fprintf(w, "file          %s, %d bytes\n", out, len(data))
		f.Card.Text(w)
	})
}

// measurement is a model's result on a test set.
type measurement struct {
	Accuracy float64 `json:"accuracy"`
	Tested   string  `json:"tested"` // the test set
	*evaluate.Measures
}

func (m measurement) text(w io.Writer) {
	fmt.Fprintf(w, "accuracy      %.4f, error %.4f\n", m.Accuracy, 1-m.Accuracy)
	if m.Measures != nil {
		fmt.Fprintf(w, "beside        %s\n", m.Measures)
		if q := m.Quality; q != nil {
			fmt.Fprintf(w, "calibration   error %.4f; mean probability of %s %.4f, rate %.4f\n", q.ECE, m.Positive,
				q.Mean, q.Rate)
		}
	}
	fmt.Fprintf(w, "tested        %s\n", m.Tested)
	for _, warning := range m.warnings() {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

func (m measurement) warnings() []string {
	if m.Measures == nil {
		return nil
	}
	return m.Warnings
}

// claim returns what the card says of the test set, and of what stands beside the accuracy.
func (m measurement) claim() string {
	claim := m.Tested
	if m.Measures != nil {
		claim += "; " + m.String()
	}
	return strings.Join(append([]string{claim}, m.warnings()...), "; warning: ")
}

// measure measures a model on the test set of --data, of a named home's data, or on the embedded one. The trainer of
// the options, or of the home, measures an external model.
func measure(ctx context.Context, r *command.Run, f *modelfile.File, o command.Models) (m measurement, err error) {
	e, own, err := evaluator(r, f, o)
	if err != nil {
		return m, err
	}
	defer e.Close()
	measured, err := e.Evaluate(ctx, params.Params{Model: f.Card.Model}, f.Parameters)
	m = measurement{measured.Accuracy, fmt.Sprintf("%s, %d test examples", cmp.Or(o.Data, own, "MNIST"),
		measured.Examples), evaluate.Judge(measured, f.Card.Model)}
	if f.Card.Model.Kind == params.ModelExternal {
		m.Tested = fmt.Sprintf("%d test examples of the %strainer", measured.Examples,
			map[bool]string{true: "home's "}[o.Trainer == ""])
	}
	return m, err
}

// evaluator returns what measures a file's model, on all rows, and worker.data of a named home.
func evaluator(r *command.Run, f *modelfile.File, o command.Models) (e *home.Evaluator, own string, err error) {
	c, a := config.DefaultConfig(), home.DefaultAppConfig()
	if r.Named {
		if c, a, err = r.LoadHome(); err != nil {
			return nil, "", err
		}
	}
	w := a.Worker
	if f.Card.Model.Kind == params.ModelExternal && o.Trainer == "" && len(w.Trainer) == 0 {
		return nil, "", command.Usage(errors.New("the model is external, and its trainer measures it: name it with " +
			"--trainer, as in --trainer \"python3 train.py\", or a home that has it with --home"))
	}
	w.Part, w.Parts = 0, 1
	e, err = r.EvaluatorOf(c, w, o)
	return e, w.Data, err
}

func modelEval() *cobra.Command {
	o := command.Models{}
	cmd := command.New(&cobra.Command{
		Use:     "eval FILE",
		Short:   "Measure an exported model on a test set: accuracy, and AUC and calibration for two classes",
		Example: "  spdl model eval model.safetensors\n  spdl model eval model.npz --data ./test-set -o json",
		Args:    cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		f, _, err := Read(args[0])
		if err != nil {
			return err
		}
		if err := f.Check(); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if a := f.Card.Adapted; a != nil && a.Odds != nil {
			return fmt.Errorf("%s is adapted by a slope and an intercept: spdl model gain of the model from which it began "+
				"measures it, as %s", args[0], command.Plain(a.Way))
		}
		m, err := measure(r.Context, r, f, o)
		if err != nil {
			return err
		}
		return r.Show(struct {
			File string `json:"file"`
			measurement
			Claimed *float64 `json:"claimed"` // by the card
		}{args[0], m, f.Card.Accuracy}, m.text)
	})
	o.Flags(cmd, "a named --home")
	return cmd
}

// Read reads an exported file.
func Read(path string) (*modelfile.File, string, error) {
	data, err := command.ReadFile(path, modelfile.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	f, format, err := modelfile.Decode(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return f, format, err
}
