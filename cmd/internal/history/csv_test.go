package history_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestCSV: a row for each round in plain numbers, an empty cell where a round has no number, and the run's name
// in the first column.
func TestCSV(t *testing.T) {
	start := time.Unix(1000, 0)
	measures := evaluate.Measures{Majority: 0.9, Quality: &evaluate.Quality{AUC: 0.75, Brier: 0.0625}}
	c := history.Chain{Rounds: []history.Round{
		{Record: app.Record{Epoch: 1, Height: 3}, At: 5, Time: start, Took: math.NaN(), Accuracy: math.NaN(),
			Loss: math.NaN(), Epsilon: math.Inf(1), Reputations: []float64{1, 0.5}},
		{Record: app.Record{Epoch: 1, Round: 1, Height: 1 << 40, View: 2, Contributions: []app.Contribution{{Selected: true},
			{}}}, At: 6, Time: start.Add(1500 * time.Millisecond), Took: 1.5, Accuracy: 0.1, Measures: &measures, Loss: 1e-9,
			Epsilon:     2.5,
			Reputations: []float64{0}},
	}}
	require.Equal(t, `run,closed,epoch,round,height,seconds,round_seconds,accuracy,loss,epsilon,lowest_reputation,`+
		`view,included,selected,guessing,recall,auc,brier
a net,5,1,0,3,0,,,,,0.5,0,0,0,,,,
a net,6,1,1,1099511627776,1.5,1.5,0.1,0.000000001,2.5,0,2,2,1,0.9,0,0.75,0.0625
`, text(append([][]string{history.Columns}, c.Rows("a net")...)))
}

func text(rows [][]string) (text string) {
	for _, row := range rows {
		text += strings.Join(row, ",") + "\n"
	}
	return text
}
