package history

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
)

// columns are the columns of a history as CSV. All are numbers.
var columns = []string{"closed", "epoch", "round", "height", "seconds", "round_seconds", "accuracy", "loss", "epsilon",
	"lowest_reputation", "view", "included", "selected", "guessing", "recall", "auc", "brier"}

// Table has the rounds of chains for other programs. If Named, the first column, run, has the chain's name.
type Table struct {
	Named bool
	rows  [][]string
}

// Add adds a row for each round. Seconds count from the chain's first row's block; a cell is empty where the round
// has no number.
func (t *Table) Add(run string, c *Chain) {
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
		t.rows = append(t.rows, row)
	}
}

// CSV returns the rows, after the names of the columns.
func (t *Table) CSV() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for _, row := range append([][]string{append([]string{"run"}, columns...)}, t.rows...) {
		if !t.Named {
			row = row[1:]
		}
		_ = w.Write(row) // to memory
	}
	w.Flush()
	return out.Bytes()
}
