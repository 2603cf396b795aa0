package history_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestCSV: a row for each round in plain numbers, and an empty cell where a round has no number.
func TestCSV(t *testing.T) {
	start := time.Unix(1000, 0)
	c := history.Chain{Rounds: []history.Round{
		{Record: app.Record{Epoch: 1, Height: 3}, At: 5, Time: start, Took: math.NaN(), Accuracy: math.NaN(),
			Loss: math.NaN(), Epsilon: math.Inf(1), Reputations: []float64{1, 0.5}, DeltaNorm: 2},
		{Record: app.Record{Epoch: 1, Round: 1, Height: 1 << 40, View: 2, Contributions: []app.Contribution{{Selected: true},
			{}}}, At: 6, Time: start.Add(1500 * time.Millisecond), Took: 1.5, Accuracy: 0.1, Loss: 1e-9, Epsilon: 2.5,
			Reputations: []float64{0}},
	}}
	var out strings.Builder
	require.NoError(t, c.CSV(&out))
	require.Equal(t, `closed,epoch,round,height,seconds,round_seconds,accuracy,loss,epsilon,lowest_reputation,delta_norm,`+
		`view,included,selected
5,1,0,3,0,,,,,0.5,2,0,0,0
6,1,1,1099511627776,1.5,1.5,0.1,0.000000001,2.5,0,0,2,2,1
`, out.String())
}
