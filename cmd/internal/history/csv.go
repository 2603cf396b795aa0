package history

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
)

// columns are the columns of a history as CSV. All are numbers.
var columns = []string{"closed", "epoch", "round", "height", "seconds", "round_seconds", "accuracy", "loss", "epsilon",
	"lowest_reputation", "view", "included", "selected", "guessing", "recall", "auc", "brier"}

// CSV writes a row for each round. Seconds count from the first row's block; a cell is empty where the round
// has no number.
func (c *Chain) CSV(w io.Writer) error {
	rows := [][]string{columns}
	for _, r := range c.Rounds {
		beside := r.Beside()
		var row []string
		for _, x := range []float64{r.At, float64(r.Epoch), float64(r.Round), float64(r.Height),
			r.Time.Sub(c.Rounds[0].Time).Seconds(), r.Took, r.Accuracy, r.Loss, r.Epsilon, slices.Min(r.Reputations),
			float64(r.View), float64(len(r.Contributions)), float64(r.Selected()), beside[0], beside[1],
			beside[2], beside[3]} {
			cell := ""
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				cell = strconv.FormatFloat(x, 'f', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
