package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// TestMeasureTwoClasses: a model of two classes is also measured by AUC and calibration, and the text
// names the positive class.
func TestMeasureTwoClasses(t *testing.T) {
	table := filepath.Join(t.TempDir(), "t.csv")
	var rows strings.Builder
	rows.WriteString("x,diagnosis\n")
	for i := range 100 {
		fmt.Fprintf(&rows, "%d,benign\n%d,malignant\n", i, 1000-i)
	}
	require.NoError(t, os.WriteFile(table, []byte(rows.String()), 0o600))
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelMean: 127.5,
		PixelScale: 255, Table: &params.Table{Label: "diagnosis",
			Classes: []string{"benign", "malignant"}, Columns: []params.Column{{Name: "x", Low: 0, High: 1000}}}}
	f := &modelfile.File{Card: modelfile.Card{Model: m}, Parameters: []float64{-1, 1, 0, 0}}
	got, err := measure(t.Context(), &command.Run{}, f, command.Models{Data: table})
	require.NoError(t, err)
	require.NotNil(t, got.Quality)
	require.Equal(t, 1., got.Quality.AUC)
	require.Equal(t, 1., got.Accuracy)
	var text strings.Builder
	got.text(&text)
	require.Contains(t, text.String(), "AUC 1.0000, Brier score 0.0")
	require.Contains(t, text.String(), "; mean probability of diagnosis=malignant 0.")
	require.InDelta(t, got.Quality.Rate, 1-got.Majority, 0.2)
	require.Contains(t, text.String(), "beside        guessing ")
	require.NotContains(t, text.String(), "warning")

	// A model that always says benign, with the probability 0.12, and the rate near a half.
	f.Parameters = []float64{0, 0, 2, 0}
	got, err = measure(t.Context(), &command.Run{}, f, command.Models{Data: table})
	require.NoError(t, err)
	require.Len(t, got.Warnings, 2)
	text.Reset()
	got.text(&text)
	require.Contains(t, text.String(), "warning: diagnosis=malignant is never predicted: ")
	require.Contains(t, text.String(), "warning: the mean probability of diagnosis=malignant is 0.119 and its rate 0.")
	require.Contains(t, got.claim(), "; recall of diagnosis=benign, 1.0000 of ")
	require.Contains(t, got.claim(), "; warning: diagnosis=malignant is never predicted: ")

	f.Card.Model.Table.Classes = []string{"benign", "malignant", "unknown"}
	f.Card.Model.Classes, f.Parameters = 3, make([]float64, 6)
	got, err = measure(t.Context(), &command.Run{}, f, command.Models{Data: table})
	require.NoError(t, err)
	require.Nil(t, got.Quality)
	text.Reset()
	got.text(&text)
	require.NotContains(t, text.String(), "AUC")
}

// TestMeasureExternal: without a trainer of the options or of the home the error names both.
func TestMeasureExternal(t *testing.T) {
	f := &modelfile.File{Card: modelfile.Card{Model: params.Model{Kind: params.ModelExternal}}}
	_, err := measure(t.Context(), &command.Run{}, f, command.Models{})
	require.ErrorContains(t, err, `name it with --trainer, as in --trainer "python3 train.py", or a home that has it`)
	_, err = measure(t.Context(), &command.Run{Named: true, Home: t.TempDir()}, f, command.Models{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "--trainer", "a named home must be one")
}
