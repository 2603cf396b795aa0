package gain_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/gain"
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
	g, err := gain.Of(path, m, []float64{3, 0}, 0)
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
		text, err := gain.Warning(path, "", m)
		require.NoError(t, err)
		require.Contains(t, text, "rows of this file may have trained the model")
	}
	for _, path := range []string{own, turned} {
		text, err := gain.Warning(path, own, m)
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
	text, err := gain.Warning(more, own, m)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("%d of %d test rows trained this model, as training rows of %s; 0 it does not "+
		"have", trained, file.Test.Len(), own))
	theirs, err := home.LoadData(others, m)
	require.NoError(t, err)
	text, err = gain.Warning(others, own, m)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("0 of %[1]d test rows trained this model, as training rows of %[2]s; %[1]d it "+
		"does not", theirs.Test.Len(), own))
	_, err = gain.Warning(own, filepath.Join(dir, "absent.csv"), m)
	require.ErrorContains(t, err, "absent.csv")
}
