// Package gain measures what a member gains by a chain's model of a table, on the member's own rows and at home.
package gain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/mnist"
)

// Report is what a member gains by a model, private to the member.
type Report struct {
	Data   string  `json:"data"`
	Class  string  `json:"class"`   // the positive one
	Unit   string  `json:"unit"`    // what the bootstrap draws: rows, or groups by their column
	ByRate float64 `json:"by_rate"` // the Brier score of saying the training rows' rate of every test row
	// Warning says which columns most rows write otherwise than the table, and that test rows trained the model, or may
	// have; "" if the file fits and is that of the owner's home.
	Warning string `json:"warning,omitempty"`
	Odds    string `json:"odds,omitempty"` // how adapted is made of an external model's probabilities
	adapt.Report
}

// Predictor gives the member's rows the probabilities of an external model, those to train on and those to test on.
type Predictor interface {
	Predict(ctx context.Context, p params.Params, x []float64) (train, test trainer.Predicted, err error)
}

// Measures reports whether the gain by models of a shape is known: by those of a table of two classes.
func Measures(m params.Model) bool {
	t := evaluate.TableOf(m)
	return m.Kind == params.ModelLogistic || m.Kind == params.ModelExternal && t != nil && len(t.Classes) == 2
}

// Of measures what the owner of a CSV file gains by a chain's model. An external model needs a Predictor of these rows.
// mine is a file of the probabilities that a model of the owner's gives the file's rows; "" for none.
func Of(ctx context.Context, path string, m params.Model, parameters []float64, threshold float64, by Predictor,
	mine string) (g Report, err error) {
	var train, test trainer.Predicted
	external := m.Kind == params.ModelExternal
	if external {
		if by == nil {
			return g, evaluate.ErrExternal
		}
		if train, test, err = by.Predict(ctx, params.Params{Model: m}, parameters); err != nil {
			return g, err
		}
		if m, err = tableOf(m); err != nil {
			return g, err
		}
	}
	if !Measures(m) {
		return g, fmt.Errorf("this model is of kind %s and %d classes, want %s, the linear model of a table of two classes, "+
			"or %s", printable.Text(m.Kind), m.Classes, params.ModelLogistic, params.ModelExternal)
	}
	data, err := home.LoadData(path, m)
	if err != nil {
		return g, err
	}
	rows := make([]mnist.Features, 2)
	for i, set := range []mnist.Set{data.Train, data.Test} {
		if rows[i], err = inputs.Features(set, nil, m, inputs.Keep{}); err != nil {
			return g, err
		}
	}
	labels := rows[0].Labels
	fit, err := table.FitOf(path, *m.Table)
	if err != nil {
		return g, err
	}
	g = Report{Data: path, Class: m.Table.Classes[1], Unit: "rows"}
	warnings := table.Apart([]table.Fit{fit}, *m.Table)
	if m.Table.Group != "" {
		g.Unit = "groups by " + m.Table.Group
	}
	var own []mnist.Features
	if external {
		own, parameters, rows = rows, []float64{1, 0}, make([]mnist.Features, 2)
		for i, p := range []trainer.Predicted{train, test} {
			if rows[i], err = logOdds(p, own[i]); err != nil {
				return g, err
			}
		}
	}
	var chances []float64
	if mine != "" {
		if chances, err = table.Chances(mine, path, *m.Table); err != nil {
			return g, err
		}
	}
	if g.Report, err = adapt.Gain(rows[0], rows[1], parameters, threshold, chances, own...); err != nil {
		return g, fmt.Errorf("%s: %w", path, err)
	}
	if _, last := g.Chosen(); last.Name == adapt.Mine && last.AUC.Value < 0.5 {
		warnings = append(warnings, fmt.Sprintf("the AUC of mine is %.3f, below guessing: are the rows of %s in the order "+
			"of %s, and is it the probability of %s?", last.AUC.Value, mine, path, g.Class))
	}
	g.Warning = strings.Join(warnings, "; ")
	if external {
		for _, m := range g.Models[:3] { // the slope and the intercept
			m.Parameters[1] *= params.TableConstant
		}
		odds := g.Models[2].Parameters
		g.Odds = fmt.Sprintf("adapted: of a probability p the log odds, ln(p/(1-p)), times %.4g and plus %.4g", odds[0],
			odds[1])
	}
	said := float64(bytes.Count(labels, []byte{1})) / float64(len(labels))
	rate := float64(g.Positives) / float64(g.Rows)
	g.ByRate = rate*(1-said)*(1-said) + (1-rate)*said*said
	return g, nil
}

// tableOf returns the model that a member makes alone on the table of an external model's configuration.
func tableOf(m params.Model) (params.Model, error) {
	t := evaluate.TableOf(m)
	if t == nil || len(t.Classes) != 2 {
		return m, errors.New("the gain is of models of tables of two classes, and model.config of this external one has no " +
			"such table: spdl new --module with --schema makes one")
	}
	m = params.Model{Kind: params.ModelLogistic, Classes: 2, NoBias: true, Table: t, Pool: 1,
		Inputs: uint32(t.Inputs() + 1), PixelMean: params.TableMean, PixelScale: params.TableScale}
	return m, t.Validate(m)
}

// logOdds returns rows of two inputs: the log odds of the second class, and the constant.
func logOdds(p trainer.Predicted, own mnist.Features) (mnist.Features, error) {
	out := mnist.Features{Labels: own.Labels, Groups: own.Groups, Inputs: 2}
	if !bytes.Equal(p.Labels, own.Labels) || p.Classes != 2 {
		return out, fmt.Errorf("the trainer has %d rows of %d classes, and their labels are not those of the %d rows here: "+
			"does load of its study read other rows, or in another order?", len(p.Labels), p.Classes, own.Len())
	}
	for i := range p.Labels {
		x := min(max(p.Row(i)[1], 1e-7), 1-1e-7) // 0 and 1 have no odds, and these are float32
		out.X = append(out.X, float32(math.Log(x/(1-x))), params.TableConstant)
	}
	return out, nil
}

// verdicts say what the verdict of the chosen model means.
var verdicts = map[string]string{
	adapt.Better: "a gain: for these rows the %s model is better than the one that you %s",
	adapt.Same:   "no gain that these test rows show: of the %s model and the one that you %s none is better here",
	adapt.Worse:  "no gain: for these rows the %s model is worse than the one that you %s",
}

// Chosen returns the model that the folds of the training rows choose, and the one that it is compared with: that which
// the member has, or makes alone.
func (g Report) Chosen() (chosen, last adapt.Measured) {
	for _, m := range g.Models {
		if m.Chosen {
			chosen = m
		}
	}
	return chosen, g.Models[len(g.Models)-1]
}

// NoneBeatsRate reports whether no model's Brier score is better than that of guessing the rate.
func (g Report) NoneBeatsRate() bool {
	return !slices.ContainsFunc(g.Models, func(m adapt.Measured) bool { return m.Brier.Value < g.ByRate })
}

// Verdict says whether the chosen model is a gain, and doubts a table that tells too much.
func (g Report) Verdict() string {
	chosen, last := g.Chosen()
	which := map[bool]string{false: "make alone", true: "have"}[last.Name == adapt.Mine]
	text := fmt.Sprintf(verdicts[chosen.Verdict], chosen.Name, which)
	if g.NoneBeatsRate() {
		text += ". None is better than guessing the rate"
	}
	alone := slices.IndexFunc(g.Models, func(m adapt.Measured) bool { return m.Name == adapt.Alone })
	return text + adapt.Doubt(g.Models[alone].AUC.Value)
}

// Head names the columns of Cells.
var Head = []string{"model", "AUC", "Brier", "recall", "precision", "ECE", "Brier less that of alone"}

// Cells returns a row for each model, and one for guessing the rate.
func (g Report) Cells() (rows [][]string) {
	for _, m := range g.Models {
		beside := ""
		if _, last := g.Chosen(); m.Name != last.Name {
			beside = m.Verdict + ", " + m.Beside.Text(4)
		}
		rows = append(rows, []string{m.Name, m.AUC.Text(3), m.Brier.Text(4), m.Recall.Text(2), m.Precision.Text(2),
			m.ECE.Text(3), beside})
	}
	return append(rows, []string{"by the rate", "0.500", fmt.Sprintf("%.4f", g.ByRate), "", "", "", ""})
}

// Text writes a table of the models, and the verdict.
func (g Report) Text(w io.Writer) {
	fmt.Fprintf(w, "%s: %d test rows (%d %s), %.1f %% are %s; threshold %.3g\n", g.Data, g.Rows, g.Units,
		printable.Text(g.Unit), 100*float64(g.Positives)/float64(g.Rows), printable.Text(g.Class), g.Threshold)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, last := g.Chosen()
	fmt.Fprintln(t, strings.ToUpper(strings.Replace(strings.Join(Head, "\t"), adapt.Alone, last.Name, 1)))
	for _, row := range g.Cells() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
	judge := "spdl-lab rehearse leaves out each row in turn, and is the better judge"
	if g.Odds != "" { // of a module, which nothing rehearses
		fmt.Fprintln(w, g.Odds)
		judge = "another may say otherwise, within the intervals"
	}
	if last.Name == adapt.Mine {
		judge = "mine is too good if it trained on these: predict.py --side says which they are"
	}
	fmt.Fprintf(w, "%s\nof one split of these rows: %s\nprivate to the owner of the rows: no epsilon bounds what this "+
		"tells of them\n", g.Verdict(), judge)
	if g.Warning != "" {
		fmt.Fprintln(w, "warning:", printable.Text(g.Warning))
	}
}

// Warning says that test rows of a file trained a model, or may have. own is the file on which the owner's home trains,
// "" where it is not known, as of a named home without worker.data. It is "" if all are test rows of own. Rows are
// compared by what the model reads of them: a column more in a file moves its rows to other sides.
func Warning(path, own string, named bool, m params.Model) (string, error) {
	const doubt = "rows of this file may have trained the model, and the measures may be too good: "
	switch {
	case own == "" && named:
		return doubt + "this home has no worker.data, so what it trained on is not known; spdl config set worker.data FILE " +
			"names it", nil
	case own == "":
		return doubt + "name the home by --home, which knows its training rows, and measure on its file as it is", nil
	}
	var err error
	if m.Kind == params.ModelExternal {
		if m, err = tableOf(m); err != nil {
			return "", err
		}
	}
	mine, err := home.LoadData(own, m)
	file, failed := home.LoadData(path, m)
	if err = cmp.Or(err, failed); err != nil {
		return "", err
	}
	tested, trained := count(mine.Test), count(mine.Train)
	both, other := 0, 0
	for row, n := range count(file.Test) {
		n -= min(n, tested[row])
		both, other = both+min(n, trained[row]), other+max(0, n-trained[row])
	}
	if both+other == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d of %d test rows trained this model, as training rows of %s; %d it does not have, and they may "+
		"have trained the model elsewhere: the measures may be too good, leave --data out to measure on the home's own file",
		both, file.Test.Len(), own, other), nil
}

// count returns how often a set has each row, by what a model reads of it.
func count(s mnist.Set) map[string]int {
	rows := map[string]int{}
	for i := range s.Len() {
		rows[string(append([]byte{s.Labels[i]}, s.Image(i)...))]++
	}
	return rows
}
