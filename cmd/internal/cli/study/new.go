package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/templates"
)

// New returns the command that writes a study.
func New() *cobra.Command {
	o := &newOptions{}
	var about []string
	for _, t := range templates.All() {
		about = append(about, fmt.Sprintf("  %-12s %s; needs %s", t.Name, t.About, t.Needs))
	}
	cmd := command.New(&cobra.Command{
		Use:   "new DIR",
		Short: "Write a study: a trainer in Python, parameters, a localnet",
		Long: "Write a study to a folder: a trainer in Python, parameters, the manifest of a localnet. It runs as it " +
			"is:\nspdl-lab testnet start --manifest DIR/net.toml. The model is a template's, or with --module the one that " +
			"a function\nof yours builds: a PyTorch module, or a linear model of NumPy or scikit-learn. The templates:\n\n" +
			strings.Join(about, "\n"),
		Example: "  spdl new ./study --template pytorch-cnn\n  spdl new ./study --module my.py:build\n" +
			"  spdl new ./study --module my.py:build --data patients.csv --schema patients.schema.json\n" +
			"  spdl new ./study --module my.py:build --sites north.csv,south.csv,west.tsv --schema schema.json",
		Args: cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.template, "template", templates.Names()[0], "template: "+
		strings.Join(templates.Names(), ", ")).Values(templates.Names()...)
	command.Flag(cmd, &o.module.Source, "module", "", "a model of your own, as FILE.py:FUNCTION: the function returns it")
	command.Flag(cmd, &o.module.Data, "data", "", "data for --module, which are copied: a folder of IDX files, a CSV "+
		"or Parquet file with --label or --schema, or what load(hello) of its file reads (default: MNIST)")
	command.Flag(cmd, &o.Sites, "sites", nil, "in place of --data: files of sites, as north.csv,south.csv, one for each "+
		"validator of the localnet; they may differ in columns that --schema does not name")
	command.TableFlags(cmd, &o.module.Label, &o.module.Group, &o.module.Schema, "; inputs are those of built-in models")
	command.Flag(cmd, &o.module.Head, "head", "", "a head for the features of --features, in place of a module: linear, "+
		"or mlp with 32 hidden units; needs PyTorch").Values("linear", "mlp")
	command.Flag(cmd, &o.features, "features", "", "an npz, Parquet or CSV file with x and y, and perhaps groups")
	command.Flag(cmd, &o.module.Adapt, "adapt", "", "what is trained of a pretrained PyTorch module: bias, or "+
		"lora:rank=4 for low-rank products beside its frozen weights (default: what it does not freeze)")
	command.Flag(cmd, &o.Validators, "validators,n", 4, "validators, among whom the template's data are dealt out").
		Positive()
	command.Flag(cmd, &o.Rounds, "rounds", 0, "rounds (default: the template's)").Positive()
	command.Flag(cmd, &o.Epsilon, "epsilon", 0, "privacy budget of every participant, which sets the noise (default: the "+
		"template's)").Positive()
	command.Flag(cmd, &o.LearningRate, "learning-rate", 0, "learning rate (default: one for model, rows and noise)").
		Positive()
	command.Flag(cmd, &o.Batch, "batch", 0, "examples of a step (default: the template's, or all of a member)").Positive()
	command.Flag(cmd, &o.Clipping, "clipping", "", "who clips an example's gradient: rows (SPDL) or sum (the trainer; "+
		"default: the template's)").Values(params.ClippingRows, params.ClippingSum)
	command.Flag(cmd, &o.Python, "python", "python3", "the interpreter, as net.toml names it")
	return cmd
}

type newOptions struct {
	template string
	module   templates.Module
	features string
	templates.Options
}

func (o *newOptions) run(r *command.Run, args []string) error {
	o.Log = r.Err
	if len(o.Sites) > 0 {
		if o.module.Source == "" || o.module.Schema == "" || o.module.Data != "" || r.Given(&o.Validators) {
			return command.Usage(errors.New("--sites wants --module and --schema, and no --data or --validators: spdl schema " +
				"draft makes a schema of all files, and each is a validator's"))
		}
		o.Validators, o.module.Data = len(o.Sites), o.Sites[0]
	}
	if o.module.Source != "" && r.Given(&o.template) {
		return command.Usage(fmt.Errorf("--module %s and --template %s: a study has one model, leave one of them out",
			o.module.Source, o.template))
	}
	if o.features != "" || o.module.Head != "" {
		head := templates.Module{Data: o.features, Head: o.module.Head}
		if o.features == "" || o.module != (templates.Module{Head: head.Head}) || head.Head == "" || r.Given(&o.template) {
			return command.Usage(errors.New("--head and --features are for each other: a study of features has no other " +
				"model, data or adapter"))
		}
		o.module = head
	}
	if o.module.Source != "" || o.module.Head != "" {
		return o.study(r, args[0])
	}
	if o.module != (templates.Module{}) {
		return command.Usage(errors.New("--data, --label, --schema, --group and --adapt are for --module: a template has " +
			"data and a model of its own"))
	}
	t := templates.All()[slices.Index(templates.Names(), o.template)]
	p, err := t.Write(args[0], o.Options)
	if err != nil {
		return err
	}
	return showStudy(r, args[0], o.Options, p, "The study needs "+t.Needs+".\n")
}

// study writes the study of the user's own model.
func (o *newOptions) study(r *command.Run, dir string) error {
	m := o.module
	if m.Group != "" && m.Label == "" {
		return command.Usage(fmt.Errorf("--group %q names a column of a CSV file: name its labels with --label", m.Group))
	}
	if m.Label+m.Schema != "" && m.Data == "" {
		return command.Usage(fmt.Errorf("--label %q names a column of a CSV file, --schema %q describes one: name the file "+
			"with --data", m.Label, m.Schema))
	}
	if err := m.Check(); err != nil {
		return command.Usage(err)
	}
	name := "--module " + m.Source
	if m.Head != "" {
		name = "--head " + m.Head
	}
	p, err := m.Write(r.Context, dir, o.Options)
	var start *trainer.StartError
	switch {
	case errors.As(err, &start):
		return fmt.Errorf("%s: %w", name, lacks(r.Context, start.Program, start.Module))
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	if m.Label != "" {
		r.Warn("the ends of the columns and the names of the classes are public in params.json: for a real chain set " +
			"bounds that do not depend on anybody's rows")
	}
	return showStudy(r, dir, o.Options, p, modelText(p, dir, o.Clipping))
}

// modelText lists the tensors, and says who clips. A tensor with a start value in the study's weights file begins at
// it, because the chain's part, which is added, begins at zeros.
func modelText(p params.Params, dir, clipping string) string {
	var starts map[string]any // by tensor, the header of the file; empty without one
	if f, err := os.Open(filepath.Join(dir, templates.WeightsFile)); err == nil {
		defer f.Close()
		_, _ = f.Seek(8, io.SeekStart) // after the header's length
		_ = json.NewDecoder(f).Decode(&starts)
	}
	m, unit := p.Model, strings.TrimSuffix(p.Privacy.Units(), "s")
	var text strings.Builder
	command.Table(&text, "TENSOR\tSHAPE\tBEGINS AS", m.Tensors, func(t params.Tensor) string {
		if starts[t.Name] != nil {
			t.Init = "as build fills it"
		}
		return fmt.Sprintf("%s\t%v\t%s", t.Name, t.Shape, t.Init)
	})
	who, why := "SPDL", ""
	if m.Clipping == params.ClippingSum {
		who, why = "the trainer", ", because the rows of a batch take more than 32 MiB"
	}
	if clipping != "" {
		why = ", as --clipping says"
	}
	return fmt.Sprintf("%s\n%s clips each %s's gradient%s.\n", text.String(), who, unit, why)
}

// showStudy says what was written and what comes next.
func showStudy(r *command.Run, dir string, o templates.Options, p params.Params, about string) error {
	next := "spdl-lab testnet start --manifest " + filepath.Join(dir, "net.toml")
	return r.Show(struct {
		Folder     string        `json:"folder"`
		Parameters params.Params `json:"params"`
		Next       string        `json:"next"`
	}{dir, p, next}, command.Line(fmt.Sprintf("%s%s: %d parameters, %d rounds, of which each takes %d %s a member; "+
		"epsilon %g, clip norm %g, noise multiplier %g, learning rate %.4g: where the accuracy jumps or falls, try "+
		"--learning-rate and a third of it.\nTry the trainer, and time it:\n  spdl trainer check %s --python %s --parts %d\n"+
		"Run:\n  %s",
		about, dir, p.Model.Dim(), p.Training.Rounds, p.Privacy.Batch, p.Privacy.Units(), p.Privacy.Epsilon,
		p.Privacy.Clip, p.Privacy.NoiseMultiplier, p.Training.LearningRate, filepath.Join(dir, "train.py"), o.Python,
		o.Validators, next)))
}
