package history

import (
	"math"
	"slices"
	"strconv"
)

// Columns are the names of a row's values. All but run are numbers.
var Columns = []string{"run", "closed", "epoch", "round", "height", "seconds", "round_seconds", "accuracy", "loss",
	"epsilon", "lowest_reputation", "view", "included", "selected", "guessing", "recall", "auc", "brier"}

// Rows returns a row for each round, for a CSV file that may have several chains. Seconds count from the first row's
// block; a cell is empty where the round has no number.
func (c *Chain) Rows(run string) (rows [][]string) {
	for _, r := range c.Rounds {
		beside, row := r.Beside(), []string{run}
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
	return rows
}
