package model

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/gain"
)

func modelGain() *cobra.Command {
	var data, probabilities string
	threshold := 0.
	cmd := command.New(&cobra.Command{
		Use:   "gain FILE",
		Short: "Say what one gains by an exported model of a table: beside the model that one makes alone",
		Long: `Say what one gains by an exported model of a table of two classes, beside the model
that one makes alone. Four models are measured on the test rows of one's own file, a
fifth by a hash, which no training has seen: the chain's (shared), with an intercept
of one's own, with all parameters fitted (adapted), and a ridge regression without the
chain (alone), whose strength five folds choose. Each measure has its 95 % interval,
of 1,000 draws of the test rows, whole groups each. A model is better or worse if the
interval of its Brier score minus that of alone has one sign, and the difference is a
hundredth of alone's score at least.

It runs at home and sends nothing. What it prints is private to the owner of the rows,
and what one tells others of it no epsilon pays for.`,
		Example: "  spdl model gain m.safetensors --data patients.csv\n" +
			"  spdl model gain m.safetensors --data patients.csv -o json  # with the calibration curves\n" +
			"  spdl model gain m.safetensors --data patients.csv --probabilities p.csv  # of a module of one's own",
		Args: cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		f, err := readTable(args[0], data, params.ModelLogistic, params.ModelExternal)
		if err != nil {
			return err
		}
		if threshold < 0 || threshold >= 1 {
			return command.Usage(fmt.Errorf("--threshold is %g, want above 0 and below 1", threshold))
		}
		if external := f.Card.Model.Kind == params.ModelExternal; external != (probabilities != "") {
			return command.Usage(fmt.Errorf("--probabilities is %q and the model of kind %s: want the file of `python3 "+
				"train.py predict %s %s` for an external model alone", probabilities, f.Card.Model.Kind, args[0], data))
		}
		g, err := gain.Of(data, f.Card.Model, f.Parameters, threshold, probabilities)
		if err != nil {
			return err
		}
		return r.Show(g, g.Text)
	})
	command.Flag(cmd, &data, "data", "", "CSV file of one's own rows, with the columns of the chain's table")
	command.Flag(cmd, &threshold, "threshold", 0, "probability from which a row counts as positive, for recall and "+
		"precision (default: the rate of one's own training rows)")
	command.Flag(cmd, &probabilities, "probabilities", "", "of an external model: the file of the probabilities that its "+
		"trainer gives to the rows of --data")
	return cmd
}
