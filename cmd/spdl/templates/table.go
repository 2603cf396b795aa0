package templates

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The synthetic table: three clouds of points with labels.
const (
	rows    = 5000
	columns = 20
	classes = 3
)

// writeCSV writes data.csv, with the same bytes on every machine.
func writeCSV(dir string) error {
	f, err := os.Create(filepath.Join(dir, "data.csv"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for j := range columns {
		fmt.Fprintf(w, "x%d,", j)
	}
	fmt.Fprintln(w, "label")
	random := rand.New(rand.NewPCG(20, 3))
	var centre [classes][columns]float64
	for c := range centre {
		for j := range centre[c] {
			centre[c][j] = 0.5 * random.NormFloat64()
		}
	}
	for range rows {
		c := random.IntN(classes)
		for j := range columns {
			fmt.Fprintf(w, "%.2f,", math.Round(100*(centre[c][j]+random.NormFloat64()))/100)
		}
		fmt.Fprintln(w, c)
	}
	return errors.Join(w.Flush(), f.Close())
}
