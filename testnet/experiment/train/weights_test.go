package train_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// TestWeightsAct: with the weights of a rare class its rows are found, which a model without weights
// takes for the others, and only the ratio of the weights counts.
func TestWeightsAct(t *testing.T) {
	rng, rows := rand.New(rand.NewPCG(1, 1)), &strings.Builder{}
	rows.WriteString("a,b,y\n")
	for i := range 5000 {
		ill := i%10 == 0
		shift := 0.0
		if ill {
			shift = 1.5
		}
		fmt.Fprintf(rows, "%.4f,%.4f,%t\n", shift+rng.NormFloat64(), rng.NormFloat64(), ill)
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(rows.String()), 0o600))
	run := func(weights ...float64) ([]float64, float64) {
		described := params.Table{Label: "y", Classes: []string{"false", "true"}, Rate: 0.1, Weights: weights,
			Columns: []params.Column{{Name: "a", Low: -5, High: 5}, {Name: "b", Low: -5, High: 5}}}
		data, err := table.Load(file, described)
		require.NoError(t, err)
		p, err := preset.Make("default", 4, preset.Own{Epsilon: 2,
			Data: &preset.Data{Examples: data.Train.Len(), Table: &described, Classes: 2}})
		require.NoError(t, err)
		out, err := train.Run(t.Context(), train.Spec{Params: p, Nodes: 4, Seed: 1}, data)
		require.NoError(t, err)
		e, err := evaluate.New(data.Test, p.Model)
		require.NoError(t, err)
		measured, err := e.Evaluate(out.Model)
		require.NoError(t, err)
		g := measured.Guesses
		return out.Model, float64(g[3]) / float64(g[2]+g[3])
	}
	_, plain := run()
	require.Less(t, plain, 0.3)
	model, recall := run(1, 8)
	require.Greater(t, recall, 0.65)
	again, _ := run(0.125, 1)
	require.Equal(t, model, again)
}
