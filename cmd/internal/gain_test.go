package internal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/mnist"
)

// TestByTheRate: the score of guessing the training rows' rate stands beside the models', and it is said if none is
// better.
func TestByTheRate(t *testing.T) {
	text := "id,x,y\n"
	for i := range 400 {
		text += fmt.Sprintf("%d,%d,%d\n", i, i%2, i/2%3/2) // y is independent of x, and 1 in a third
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	m := params.Model{Kind: params.ModelLogistic, Inputs: 2, Classes: 2, NoBias: true, Pool: 1,
		PixelMean: params.TableMean, PixelScale: params.TableScale, Table: &params.Table{Label: "y",
			Classes: []string{"0", "1"}, Columns: []params.Column{{Name: "x", High: 1}}}}
	g, err := gain.Of(t.Context(), path, m, []float64{3, 0}, 0, nil, "")
	require.NoError(t, err)
	data, err := home.LoadData(path, m)
	require.NoError(t, err)
	rate, want := 0., 0.
	for _, label := range data.Train.Labels {
		rate += float64(label) / float64(data.Train.Len())
	}
	for _, label := range data.Test.Labels {
		want += (rate - float64(label)) * (rate - float64(label)) / float64(data.Test.Len())
	}
	require.InDelta(t, want, g.ByRate, 1e-12)
	cells := g.Cells()
	require.Equal(t, []string{"by the rate", fmt.Sprintf("%.4f", want)}, []string{cells[4][0], cells[4][2]})

	const sentence = ". None is better than guessing the rate"
	for i := range g.Models {
		g.Models[i].Brier.Value = g.ByRate
	}
	require.Contains(t, g.Verdict(), sentence)
	g.Models[3].Brier.Value -= 1e-9
	require.NotContains(t, g.Verdict(), sentence)
	var out strings.Builder
	g.Text(&out)
	require.Regexp(t, `(?m)^by the rate +0.500 `, out.String())
}

// TestOfAModule: by the probabilities of a logistic model an external model gains what that model gains, beside the
// same model that the member makes alone. A trainer of other rows is an error.
func TestOfAModule(t *testing.T) {
	random, text := rand.New(rand.NewPCG(3, 3)), "x,z,y\n"
	for range 600 {
		x, y := random.NormFloat64(), "no"
		if random.Float64() < 1/(1+math.Exp(-2*x)) {
			y = "yes"
		}
		text += fmt.Sprintf("%.3f,%d,%s\n", x, random.IntN(2), y)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	m := params.Model{Kind: params.ModelLogistic, Inputs: 4, Classes: 2, NoBias: true, Pool: 1,
		PixelMean: params.TableMean, PixelScale: params.TableScale, Table: &params.Table{Label: "y",
			Classes: []string{"no", "yes"}, Columns: []params.Column{{Name: "x", Low: -3, High: 3},
				{Name: "z", Values: []string{"0", "1"}}}}}
	shared := []float64{4, 0.1, 0, -0.5}
	want, err := gain.Of(t.Context(), path, m, shared, 0, nil, "")
	require.NoError(t, err)

	data, err := home.LoadData(path, m)
	require.NoError(t, err)
	var by predictor
	for i, set := range []mnist.Set{data.Train, data.Test} {
		rows, err := inputs.Features(set, nil, m, inputs.Keep{})
		require.NoError(t, err)
		by[i] = trainer.Predicted{Classes: 2, Labels: rows.Labels}
		for k := range rows.Labels {
			score := 0.
			for j, x := range rows.Row(k) {
				score += float64(x) * shared[j]
			}
			p := 1 / (1 + math.Exp(-score))
			by[i].Chance = append(by[i].Chance, 1-p, p)
		}
	}
	config, err := json.Marshal(map[string]any{"table": m.Table})
	require.NoError(t, err)
	of := func(config string, by gain.Predictor) (gain.Report, error) {
		m := params.Model{Kind: params.ModelExternal, Config: config}
		return gain.Of(t.Context(), path, m, []float64{7}, 0, by, "")
	}
	got, err := of(string(config), by)
	require.NoError(t, err)
	require.Equal(t, want.Models[3], got.Models[3], "the model that the member makes alone")
	require.InDelta(t, want.Models[0].Brier.Value, got.Models[0].Brier.Value, 1e-6)
	require.InDelta(t, want.Models[0].AUC.Low, got.Models[0].AUC.Low, 1e-3)
	require.InDelta(t, want.Models[1].Brier.Value, got.Models[1].Brier.Value, 1e-5, "with an intercept of its own")
	var slope, intercept float64
	_, err = fmt.Sscanf(got.Odds, "adapted: of a probability p the log odds, ln(p/(1-p)), times %g and plus %g", &slope,
		&intercept)
	require.NoError(t, err)
	brier := 0.
	for i, label := range by[1].Labels {
		p := by[1].Row(i)[1]
		p = 1 / (1 + math.Exp(-slope*math.Log(p/(1-p))-intercept))
		brier += (p - float64(label)) * (p - float64(label)) / float64(len(by[1].Labels))
	}
	require.InDelta(t, got.Models[2].Brier.Value, brier, 1e-4)
	require.Equal(t, []any{want.Rows, want.ByRate, want.Class}, []any{got.Rows, got.ByRate, got.Class})

	for name, other := range map[string]trainer.Predicted{
		"one row less":         {Classes: 2, Labels: by[1].Labels[1:], Chance: by[1].Chance[2:]},
		"other labels":         {Classes: 2, Labels: make([]uint8, len(by[1].Labels)), Chance: by[1].Chance},
		"probabilities of 4":   {Classes: 4, Labels: by[1].Labels, Chance: append(by[1].Chance, by[1].Chance...)},
		"the rows to train on": by[0],
	} {
		_, err := of(string(config), predictor{by[0], other})
		require.ErrorContains(t, err, "does load of its study read other rows", name)
	}
	_, err = of(string(config), nil)
	require.ErrorIs(t, err, evaluate.ErrExternal)
	_, err = of(`{"data":"x.npz"}`, by)
	require.ErrorContains(t, err, "model.config of this external one has no such table")
	_, err = of(strings.Replace(string(config), `"high":3`, `"high":-5`, 1), by)
	require.ErrorContains(t, err, `column "x" is from -3 to -5`)
}

// predictor has the probabilities of the rows to train on, and of those to test on.
type predictor [2]trainer.Predicted

func (p predictor) Predict(context.Context, params.Params, []float64) (train, test trainer.Predicted, err error) {
	return p[0], p[1], nil
}

// TestWarning: without a home a file is doubted each time. With one its training rows are counted among the file's test
// rows by what the model reads of them, in whatever order its columns stand, and however many there are.
func TestWarning(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, columns []string, row func(i int) []string) string {
		text := strings.Join(columns, ",") + "\n"
		for i := range 200 {
			text += strings.Join(row(i), ",") + "\n"
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s := fmt.Sprint
	own := write("own.csv", []string{"x", "y"}, func(i int) []string { return []string{s(i), s(i % 2)} })
	turned := write("turned.csv", []string{"y", "x"}, func(i int) []string { return []string{s(i % 2), s(i)} })
	more := write("more.csv", []string{"z", "y", "x"}, func(i int) []string { return []string{s(i % 3), s(i % 2), s(i)} })
	others := write("others.csv", []string{"x", "y"}, func(i int) []string { return []string{s(i), s((i + 1) % 2)} })
	m := params.Model{Kind: params.ModelLogistic, Inputs: 2, Classes: 2, NoBias: true, Pool: 1,
		PixelMean: params.TableMean, PixelScale: params.TableScale, Table: &params.Table{Label: "y",
			Classes: []string{"0", "1"}, Columns: []params.Column{{Name: "x", High: 255}}}}
	for _, path := range []string{own, more} {
		text, err := gain.Warning(path, "", false, m)
		require.NoError(t, err)
		require.Contains(t, text, "rows of this file may have trained the model")
		require.Contains(t, text, "--home")
		text, err = gain.Warning(path, "", true, m)
		require.NoError(t, err)
		require.Contains(t, text, "this home has no worker.data")
		require.NotContains(t, text, "--home")
	}
	for _, path := range []string{own, turned} {
		text, err := gain.Warning(path, own, true, m)
		require.NoError(t, err)
		require.Empty(t, text)
	}
	mine, err := home.LoadData(own, m)
	require.NoError(t, err)
	file, err := home.LoadData(more, m)
	require.NoError(t, err)
	trained := 0
	for _, image := range file.Test.Images {
		trained += bytes.Count(mine.Train.Images, []byte{image})
	}
	require.Greater(t, trained, 10)
	text, err := gain.Warning(more, own, true, m)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("%d of %d test rows trained this model, as training rows of %s; 0 it does not "+
		"have", trained, file.Test.Len(), own))
	config, err := json.Marshal(map[string]any{"table": m.Table})
	require.NoError(t, err)
	ofModule, err := gain.Warning(more, own, true, params.Model{Kind: params.ModelExternal, Config: string(config)})
	require.NoError(t, err)
	require.Equal(t, text, ofModule, "its table is that of the configuration")
	theirs, err := home.LoadData(others, m)
	require.NoError(t, err)
	text, err = gain.Warning(others, own, true, m)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("0 of %[1]d test rows trained this model, as training rows of %[2]s; %[1]d it "+
		"does not", theirs.Test.Len(), own))
	_, err = gain.Warning(own, filepath.Join(dir, "absent.csv"), true, m)
	require.ErrorContains(t, err, "absent.csv")
}

// TestMine: the gain beside a model that the member has is by its probabilities of the test rows, in the file's order.
// Those of the chain's own model are no gain, noise beside them is one, and what is no probability of each row is an
// error.
func TestMine(t *testing.T) {
	random, shared := rand.New(rand.NewPCG(5, 5)), []float64{4, 0.1}
	rows, same, noise := "x,y\n", "risk\n", "no,yes\n"
	for range 900 {
		x, y := random.NormFloat64(), "no"
		if random.Float64() < 1/(1+math.Exp(-2*x)) {
			y = "yes"
		}
		rows += fmt.Sprintf("%.3f,%s\n", x, y)
		noise += fmt.Sprintf("x,%g\n", random.Float64())
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	path := write("rows.csv", rows)
	m := params.Model{Kind: params.ModelLogistic, Inputs: 2, Classes: 2, NoBias: true, Pool: 1,
		PixelMean: params.TableMean, PixelScale: params.TableScale, Table: &params.Table{Label: "y",
			Classes: []string{"no", "yes"}, Columns: []params.Column{{Name: "x", Low: -4, High: 4}}}}
	of := func(mine string) (gain.Report, error) { return gain.Of(t.Context(), path, m, shared, 0, nil, mine) }
	alone, err := of("")
	require.NoError(t, err)
	for line := range strings.Lines(strings.TrimPrefix(rows, "x,y\n")) {
		x, err := strconv.ParseFloat(strings.Split(line, ",")[0], 64)
		require.NoError(t, err)
		in := (math.Round((min(max(x, -4), 4)+4)/8*255) - params.TableMean) / params.TableScale
		same += fmt.Sprintf("%.6f\n", 1/(1+math.Exp(-4*in-0.1*params.TableConstant)))
	}
	g, err := of(write("same.csv", same))
	require.NoError(t, err)
	require.Equal(t, []string{"alone", "mine"}, []string{g.Models[3].Name, g.Models[4].Name})
	require.InDelta(t, alone.Models[0].Brier.Value, g.Models[4].Brier.Value, 1e-4)
	require.Equal(t, adapt.Same, g.Models[0].Verdict)
	require.Contains(t, g.Verdict(), "the one that you have")
	g, err = of(write("noise.csv", noise))
	require.NoError(t, err)
	require.Equal(t, adapt.Better, g.Gain)
	require.Empty(t, g.Warning)
	var out strings.Builder
	g.Text(&out)
	require.Contains(t, out.String(), "BRIER LESS THAT OF MINE")
	var against strings.Builder
	against.WriteString("risk\n")
	for line := range strings.Lines(strings.TrimPrefix(same, "risk\n")) {
		p, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		require.NoError(t, err)
		fmt.Fprintf(&against, "%g\n", 1-p)
	}
	g, err = of(write("against.csv", against.String()))
	require.NoError(t, err)
	require.Contains(t, g.Warning, "below guessing")

	for text, want := range map[string]string{
		same[:strings.LastIndexByte(same[:len(same)-1], '\n')+1]: "has 899 probabilities below its header, want one for " +
			"each of the 900 rows of rows.csv",
		same + "0.5\n":                         "has 901 probabilities",
		strings.TrimPrefix(same, "risk\n"):     "has 899 probabilities below its header",
		strings.Replace(same, "\n0", "\n7", 1): "want a probability from 0 to 1",
		strings.Replace(same, "\n0", "\nx", 1): "no finite number",
		"a,b\n0.5,0.5\n":                       `has no column "yes"`,
	} {
		_, err = of(write("bad.csv", text))
		require.ErrorContains(t, err, want)
	}
}
