package model

import (
	"errors"
	"fmt"
	"io"
	"slices"

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
	f, err := readTable(args[0], o.data, params.ModelLogistic)
	if err != nil {
		return err
	}
	g, err := gain.Of(o.data, f.Card.Model, f.Parameters, 0, "")
	if err != nil {
		return err
	}
	best := adapt.Best(g.Ways())
	for _, w := range g.Ways() {
		if w.Name == o.choose {
			best = w
		}
	}
	said := fmt.Sprintf("least log loss in five folds: %s", adapt.Best(g.Ways()).Name)
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

// readTable reads an exported model of one of the kinds, and checks that rows of one's own are named.
func readTable(path, data string, kinds ...string) (*modelfile.File, error) {
	f, _, err := Read(path)
	if err == nil {
		err = f.CheckProven()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m := f.Card.Model; !slices.Contains(kinds, m.Kind) {
		return nil, fmt.Errorf("%s is a model of kind %s, want %s, the model of a table of two classes; of an external one "+
			"spdl model gain says what an intercept of one's own would do, and its own program adapts it", path,
			command.Plain(m.Kind), params.ModelLogistic)
	}
	if data == "" {
		return nil, command.Usage(errors.New("--data is missing: the CSV file of one's own rows"))
	}
	return f, nil
}
