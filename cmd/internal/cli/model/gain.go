package model

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func modelGain() *cobra.Command {
	var data string
	threshold := 0.
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

It runs at home and sends nothing. What it prints is private to the owner of the rows,
and what one tells others of it no epsilon pays for.`,
		Example: "  spdl model gain m.safetensors --data patients.csv\n" +
			"  spdl model gain m.safetensors --data patients.csv -o json  # with the calibration curves",
		Args: cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		if threshold < 0 || threshold >= 1 {
			return command.Usage(fmt.Errorf("--threshold is %g, want above 0 and below 1", threshold))
		}
		_, g, err := measureGain(r, args[0], data, threshold)
		if err != nil {
			return err
		}
		return r.Show(g, g.Text)
	})
	command.Flag(cmd, &data, "data", "", "CSV file of one's own rows, with the columns of the chain's table (default: "+
		"worker.data of a named --home)")
	command.Flag(cmd, &threshold, "threshold", 0, "probability from which a row counts as positive, for recall and "+
		"precision (default: the rate of one's own training rows)")
	return cmd
}
