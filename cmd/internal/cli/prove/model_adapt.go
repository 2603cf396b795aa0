package prove

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

func modelAdapt() *cobra.Command {
	o := &adaptOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "adapt FILE",
		Short: "Fit an exported model of a table to rows of one's own, which stay here, and say which model is best",
		Long: `Fit an exported model of a table of two classes to rows of one's own, which stay
here. Nothing is sent, so it costs no epsilon. Four models are compared: the
chain's, the chain's with an intercept of one's own, the chain's with all
parameters fitted, and one that is fitted without the chain. Five folds of the
training rows, or of their groups, choose among them, and weigh the fits whose mean
the third model is. The measures are of the test rows, about a fifth,
which no fit sees. The file of an adapted model is private to its owner: it tells
of the rows, and no proof covers it. Of a module of one's own the fit is of a slope and
an intercept of its log odds, which train.py predict applies.`,
		Example: "  spdl model adapt m.safetensors --data patients.csv --out mine.safetensors\n" +
			"  spdl model adapt m.safetensors --home ./alice --out mine.safetensors  # of a module: by the home's trainer",
		Args: cobra.ExactArgs(1),
	}, o.run)
	o.models.TrainerFlags(cmd, "a named --home")
	command.Flag(cmd, &o.models.Data, "data", "", "CSV or Parquet file of own rows, with the chain's columns (default: "+
		"worker.data of a named --home)")
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist: the best model, private to its owner "+
		"(default: none)")
	command.Flag(cmd, &o.choose, "choose", "", "write this model in place of the best").Values(adapt.Intercept,
		adapt.Adapted, adapt.Alone)
	return cmd
}

type adaptOptions struct {
	models      command.Models
	out, choose string
}

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
	f, g, err := measureGain(r, args[0], o.models, 0, "")
	if err != nil {
		return err
	}
	ways := g.Ways()
	said := fmt.Sprintf("least log loss in five folds: %s", adapt.Best(ways).Name)
	if f.Card.Model.Kind == params.ModelExternal { // the last is a regression on the table
		if ways = ways[:len(ways)-1]; o.choose == adapt.Alone {
			return command.Usage(errors.New("--choose alone is a regression on the table and no module: want intercept or " +
				"adapted"))
		}
	}
	best := adapt.Best(ways)
	for _, w := range ways {
		if w.Name == o.choose {
			best = w
		}
	}
	switch {
	case o.out != "" && best.Name == adapt.Shared:
		said += "\nwritten       nothing: the chain's model is the best for these rows"
	case o.out != "":
		f.Adapt(best.Name, best.Lambda, best.Parameters)
		data, err := f.Encode(format)
		if err == nil {
			err = command.WriteOut(o.out, data)
		}
		if err != nil {
			return err
		}
		said += fmt.Sprintf("\nwritten       %s, the model %s; %s", o.out, best.Name, modelfile.Private)
	}
	return r.Show(g, func(w io.Writer) {
		g.Text(w)
		fmt.Fprintln(w, said)
	})
}

// measureGain reads an exported model, and measures what the owner of a file gains by it, beside a model with the
// probabilities of mine, unless it is "".
func measureGain(r *command.Run, path string, o command.Models, threshold float64, mine string) (f *modelfile.File,
	g gain.Report, err error) {
	if f, _, err = Read(path); err == nil {
		err = f.CheckProven()
	}
	if err != nil {
		return f, g, fmt.Errorf("%s: %w", path, err)
	}
	m := f.Card.Model
	e, own, err := evaluator(r, f, o)
	if err != nil {
		return f, g, err
	}
	defer e.Close()
	data := cmp.Or(o.Data, own)
	if data == "" {
		return f, g, command.Usage(errors.New("--data is missing: the CSV file of one's own rows"))
	}
	if g, err = gain.Of(r.Context, data, m, f.Parameters, threshold, e, mine); err == nil {
		fits := g.Warning
		g.Warning, err = gain.Warning(data, own, r.Named, m)
		g.Warning = strings.Trim(fits+"; "+g.Warning, "; ")
	}
	return f, g, err
}

func modelGain() *cobra.Command {
	o, threshold, mine := command.Models{}, 0., ""
	cmd := command.New(&cobra.Command{
		Use:   "gain FILE",
		Short: "Say what one gains by an exported model of a table: beside the model that one makes alone",
		Long: `Say what one gains by an exported model of a table of two classes, beside the model
that one makes alone. Four models are measured on the test rows of one's own file, a
fifth by a hash of all its columns; with --home those that trained the model are
counted: the chain's (shared), with an intercept of one's own, with all parameters
fitted (adapted), and a ridge regression alone, whose strength five folds choose. Each
measure has its 95 % interval, of 1,000 draws of the test rows, whole groups each. A
model is better or worse if the interval of its Brier score minus that of alone has
one sign, and the difference is a hundredth of alone's score at least.

With --mine the others are compared with a model that one already has, by its
probabilities of the file's rows. They are too good where it was trained on test rows.

It runs at home and sends nothing. What it prints is private to the owner of the rows,
and what one tells others of it no epsilon pays for.`,
		Example: "  spdl model gain m.safetensors --data patients.csv\n" +
			"  spdl model gain m.safetensors --data patients.csv -o json  # with the calibration curves\n" +
			"  spdl model gain m.safetensors --data patients.csv --mine risk.csv  # beside a model that you have\n" +
			"  spdl model gain m.safetensors --data patients.csv --trainer 'python3 train.py'  # of a module of one's own",
		Args: cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		if threshold < 0 || threshold >= 1 {
			return command.Usage(fmt.Errorf("--threshold is %g, want above 0 and below 1", threshold))
		}
		_, g, err := measureGain(r, args[0], o, threshold, mine)
		if err != nil {
			return err
		}
		return r.Show(g, g.Text)
	})
	command.Flag(cmd, &o.Data, "data", "", "CSV or Parquet file of own rows, with the chain's columns (default: "+
		"worker.data of a named --home)")
	command.Flag(cmd, &threshold, "threshold", 0, "probability from which a row counts as positive, for recall and "+
		"precision (default: the rate of one's own training rows)")
	command.Flag(cmd, &mine, "mine", "", "CSV file of a model's probabilities of the positive class, one for each row of "+
		"the data, in its order, below a header (of several columns that named by the class)")
	o.TrainerFlags(cmd, "a named --home")
	return cmd
}
