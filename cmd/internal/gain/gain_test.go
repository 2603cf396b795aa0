package gain_test

import (
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
