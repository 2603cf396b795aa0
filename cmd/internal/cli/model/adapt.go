package model

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/mnist"
)

// way is a way to a model with its measures on the member's test rows.
type way struct {
	adapt.Way
	Quality evaluate.Quality `json:"quality"`
	Chosen  bool             `json:"chosen"`
}

func modelAdapt() *cobra.Command {
	o := &adaptOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "adapt FILE",
		Short: "Fit an exported model of a table to rows of one's own, which stay here, and say which model is best",
		Long: `Fit an exported model of a table of two classes to rows of one's own, which stay
here. Nothing is sent, so it costs no epsilon. Four models are compared: the
chain's, the chain's with an intercept of one's own, the chain's with all
parameters fitted, and one that is fitted without the chain. Five folds of the
training rows, or of their groups, choose among them and how strongly a fitted
model is drawn to its beginning. The measures are of the test rows, about a fifth,
which no fit sees. The file of an adapted model is private to its owner: it tells
of the rows, and no proof covers it.`,
		Example: "  spdl model adapt m.safetensors --data patients.csv --out mine.safetensors",
		Args:    cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.data, "data", "", "CSV file of one's own rows, with the columns of the chain's table")
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist: the best model, private to its owner "+
		"(default: none)")
	command.Flag(cmd, &o.choose, "choose", "", "write this model in place of the best").Values(adapt.Intercept,
		adapt.Adapted, adapt.Alone)
	return cmd
}

type adaptOptions struct{ data, out, choose string }

func (o *adaptOptions) run(r *command.Run, args []string) error {
	export := exportOptions{out: o.out}
	format, err := export.fileFormat()
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := command.CheckOut("out", o.out, ""); err != nil {
			return err
		}
	}
	f, err := readLogistic(args[0], o.data)
	if err != nil {
		return err
	}
	ways, err := o.ways(f)
	if err != nil {
		return err
	}
	var written *way
	if o.out != "" {
		written, err = o.write(f, ways, format)
		if err != nil {
			return err
		}
	}
	return r.Show(ways, func(w io.Writer) error { return o.text(w, ways, written) })
}

// readLogistic reads an exported model of a table of two classes, and checks that rows of one's own are named.
func readLogistic(path, data string) (*modelfile.File, error) {
	f, _, err := Read(path)
	if err == nil {
		err = f.CheckProven()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m := f.Card.Model; m.Kind != params.ModelLogistic {
		return nil, fmt.Errorf("%s is a model of kind %s: %s alone is adapted, the model of a table of two classes", path,
			command.Plain(m.Kind), params.ModelLogistic)
	}
	if data == "" {
		return nil, command.Usage(errors.New("--data is missing: the CSV file of one's own rows"))
	}
	return f, nil
}

// load returns the training rows and the test rows of a file.
func load(path string, m params.Model) (train mnist.Features, test mnist.Set, err error) {
	data, err := home.LoadData(path, m)
	if err != nil {
		return train, test, err
	}
	train, err = inputs.Features(data.Train, nil, m, inputs.Keep{})
	return train, data.Test, err
}

// ways fits the models and measures them.
func (o *adaptOptions) ways(f *modelfile.File) ([]way, error) {
	train, test, err := load(o.data, f.Card.Model)
	if err != nil {
		return nil, err
	}
	e, err := evaluate.New(test, f.Card.Model)
	if err != nil {
		return nil, err
	}
	fitted, err := adapt.Fit(train, f.Parameters)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.data, err)
	}
	best, ways := adapt.Best(fitted).Name, make([]way, len(fitted))
	for i, w := range fitted {
		ways[i] = way{Way: w, Chosen: w.Name == best}
		if ways[i].Quality, err = e.Quality(w.Parameters); err != nil {
			return nil, fmt.Errorf("%s: the test rows: %w", o.data, err)
		}
	}
	return ways, nil
}

// write writes the chosen model. It returns nil if the chain's own is the best, of which there is a file.
func (o *adaptOptions) write(f *modelfile.File, ways []way, format string) (*way, error) {
	for _, w := range ways {
		if o.choose == "" && !w.Chosen || o.choose != "" && w.Name != o.choose {
			continue
		}
		if w.Name == adapt.Shared {
			return nil, nil
		}
		f.Adapt(w.Name, w.Lambda, w.Parameters)
		data, err := f.Encode(format)
		if err != nil {
			return nil, err
		}
		return &w, command.WriteOut(o.out, data)
	}
	return nil, nil
}

func (o *adaptOptions) text(w io.Writer, ways []way, written *way) error {
	fmt.Fprintf(w, "%-10s %9s %8s %8s %8s %8s  %s\n", "model", "log loss", "AUC", "accuracy", "Brier", "ECE", "")
	for _, x := range ways {
		mark := ""
		if x.Chosen {
			mark = "least log loss in five folds"
		}
		fmt.Fprintf(w, "%-10s %9.4f %8.4f %8.4f %8.4f %8.4f  %s\n", x.Name, x.Loss, x.Quality.AUC, x.Quality.Accuracy,
			x.Quality.Brier, x.Quality.ECE, mark)
	}
	var err error
	switch {
	case written != nil:
		_, err = fmt.Fprintf(w, "written       %s, the model %s; %s\n", o.out, written.Name, modelfile.Private)
	case o.out != "":
		_, err = fmt.Fprintf(w, "written       nothing: the chain's model is the best for these rows\n")
	}
	return err
}
