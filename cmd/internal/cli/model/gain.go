package model

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Gain is what a member gains by a model, private to the member.
type Gain struct {
	Data  string `json:"data"`
	Class string `json:"class"` // the positive one
	Unit  string `json:"unit"`  // what the bootstrap draws: rows, or groups by their column
	adapt.Report
}

func modelGain() *cobra.Command {
	var data string
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
			"  spdl model gain m.safetensors --data patients.csv -o json  # with the calibration curves",
		Args: cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		f, err := readLogistic(args[0], data)
		if err != nil {
			return err
		}
		if threshold < 0 || threshold >= 1 {
			return command.Usage(fmt.Errorf("--threshold is %g, want above 0 and below 1", threshold))
		}
		g, err := GainOf(data, f.Card.Model, f.Parameters, threshold)
		if err != nil {
			return err
		}
		return r.Show(g, g.Text)
	})
	command.Flag(cmd, &data, "data", "", "CSV file of one's own rows, with the columns of the chain's table")
	command.Flag(cmd, &threshold, "threshold", 0, "probability from which a row counts as positive, for recall and "+
		"precision (default: the rate of one's own training rows)")
	return cmd
}

// GainOf measures what the owner of a CSV file gains by a chain's model.
func GainOf(path string, m params.Model, parameters []float64, threshold float64) (g Gain, err error) {
	if m.Kind != params.ModelLogistic {
		return g, fmt.Errorf("the gain is of models of two classes, this one has %d", m.Classes)
	}
	data, err := home.LoadData(path, m)
	if err != nil {
		return g, err
	}
	train, err := inputs.Features(data.Train, nil, m, inputs.Keep{})
	if err != nil {
		return g, err
	}
	test, err := inputs.Features(data.Test, nil, m, inputs.Keep{})
	if err != nil {
		return g, err
	}
	g = Gain{Data: path, Class: m.Table.Classes[1], Unit: "rows"}
	if m.Table.Group != "" {
		g.Unit = "groups by " + m.Table.Group
	}
	if g.Report, err = adapt.Gain(train, test, parameters, threshold); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return g, err
}

// verdicts say what the verdict of the chosen model means.
var verdicts = map[string]string{
	adapt.Better: "a gain: for these rows the %s model is better than the one that you make alone",
	adapt.Same:   "no gain that these test rows show: of the %s model and the one that you make alone none is better here",
	adapt.Worse:  "no gain: for these rows the %s model is worse than the one that you make alone",
}

// Text writes a table of the models, and the verdict.
func (g Gain) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d test rows (%d %s), %.1f %% are %s; threshold %.3g\n", g.Data, g.Rows, g.Units,
		command.Plain(g.Unit), 100*float64(g.Positives)/float64(g.Rows), command.Plain(g.Class), g.Threshold)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tAUC\tBRIER\tRECALL\tPRECISION\tECE\tBRIER LESS THAT OF ALONE")
	said := ""
	for _, m := range g.Models {
		beside := ""
		if m.Name != adapt.Alone {
			beside = m.Verdict + ", " + short(m.Beside, 4)
		}
		if m.Chosen {
			said = fmt.Sprintf(verdicts[m.Verdict], m.Name)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, short(m.AUC, 3), short(m.Brier, 4), short(m.Recall, 2),
			short(m.Precision, 2), short(m.ECE, 3), beside)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\nprivate to the owner of the rows: no epsilon bounds what this tells of them\n", said)
	return err
}

// short formats a measure with its interval.
func short(x adapt.Interval, digits int) string {
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, x.Value, digits, x.Low, digits, x.High)
}
