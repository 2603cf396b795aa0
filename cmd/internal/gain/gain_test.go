package gain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
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
	g, err := gain.Of(path, m, []float64{3, 0}, 0, "")
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
// same model that the member makes alone. A file of other rows is an error with its line.
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
	want, err := gain.Of(path, m, shared, 0, "")
	require.NoError(t, err)

	data, err := home.LoadData(path, m)
	require.NoError(t, err)
	lines := []string{"side,label,no,yes"}
	for i, set := range []mnist.Set{data.Train, data.Test} {
		rows, err := inputs.Features(set, nil, m, inputs.Keep{})
		require.NoError(t, err)
		for k, label := range rows.Labels {
			score := 0.
			for j, x := range rows.Row(k) {
				score += float64(x) * shared[j]
			}
			p := 1 / (1 + math.Exp(-score))
			lines = append(lines, fmt.Sprintf("%s,%s,%.9g,%.9g", []string{"train", "test"}[i], m.Table.Classes[label], 1-p, p))
		}
	}
	config, err := json.Marshal(map[string]any{"table": m.Table})
	require.NoError(t, err)
	of := func(config string, lines []string) (gain.Report, error) {
		probabilities := filepath.Join(dir, "p.csv")
		require.NoError(t, os.WriteFile(probabilities, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		return gain.Of(path, params.Model{Kind: params.ModelExternal, Config: config}, []float64{7}, 0, probabilities)
	}
	got, err := of(string(config), lines)
	require.NoError(t, err)
	require.Equal(t, want.Models[3], got.Models[3], "the model that the member makes alone")
	require.InDelta(t, want.Models[0].Brier.Value, got.Models[0].Brier.Value, 1e-6)
	require.InDelta(t, want.Models[0].AUC.Low, got.Models[0].AUC.Low, 1e-3)
	require.InDelta(t, want.Models[1].Brier.Value, got.Models[1].Brier.Value, 1e-5, "with an intercept of its own")
	require.Equal(t, []any{want.Rows, want.ByRate, want.Class}, []any{got.Rows, got.ByRate, got.Class})

	mixed := slices.Clone(lines) // a file has rows of both sides in any order
	slices.SortStableFunc(mixed[1:], func(a, b string) int { return strings.Compare(a[:2], b[:2]) })
	require.NotEqual(t, lines, mixed)
	again, err := of(string(config), mixed)
	require.NoError(t, err)
	require.Equal(t, got, again)

	changed := func(at int, line string) []string { return slices.Replace(slices.Clone(lines), at, at+1, line) }
	for says, change := range map[string][]string{
		"p.csv has 600 lines of CSV, want the header":                                   lines[1:],
		"p.csv: row 2 to train on has probability 1.5, want one to train on":            changed(2, "train,no,0,1.5"),
		"p.csv: row 1 to train on has probability 0.5, want one to test on from 0 to 1": changed(600, "train,no,.5,0.5"),
	} {
		_, err := of(string(config), change)
		require.ErrorContains(t, err, says)
	}
	_, err = of(`{"data":"x.npz"}`, lines)
	require.ErrorContains(t, err, "model.config of this external one has no such table")
	_, err = of(strings.Replace(string(config), `"high":3`, `"high":-5`, 1), lines)
	require.ErrorContains(t, err, `column "x" is from -3 to -5`)
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
