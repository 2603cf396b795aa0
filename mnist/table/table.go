// Package table reads tables in CSV files: what a chain's parameters say of one ([Shape]), and by
// that the examples of a participant ([Load]). Values become levels from 0 to 255, as pixels have
// them, so that all that is made for images takes them. Every error of a file names the line, the
// column and the value.
package table

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// ErrTable is wrapped by every error that is not the file system's.
var ErrTable = errors.New("bad table")

// parts is how many parts a table has, of which one is the test set.
const parts = 5

// Shape returns what parameters say of the table in a file, and how many rows it has: the column of
// the labels by its name, the others as inputs in the file's order with the least and the greatest
// value of each, and the texts of the labels as classes, in the order of their bytes.
func Shape(path, label string) (t params.Table, rows int, err error) {
	f, err := open(path)
	if err != nil {
		return t, 0, err
	}
	defer f.close()
	at, err := f.column(label)
	if err != nil {
		return t, 0, err
	}
	for i, name := range f.header {
		if err := params.CheckName(fmt.Sprintf("column %d of the header", i+1), name); err != nil {
			return t, 0, fmt.Errorf("%w: %s: %w", ErrTable, f.name, err)
		}
		if i != at {
			t.Columns = append(t.Columns, params.Column{Name: name, Low: math.Inf(1), High: math.Inf(-1)})
		}
	}
	t.Label = label
	for ; ; rows++ {
		more, err := f.next()
		if err != nil {
			return t, 0, err
		}
		if !more {
			break
		}
		if err := widen(&t, f, at); err != nil {
			return t, 0, err
		}
	}
	slices.Sort(t.Classes)
	return t, rows, check(t, f.name)
}

// widen takes a row into a table's ranges and classes.
func widen(t *params.Table, f *file, label int) error {
	class, err := f.text(label)
	if err != nil {
		return err
	}
	if !slices.Contains(t.Classes, class) {
		if len(t.Classes) == params.MaxTableClasses {
			return f.errorf(label, "%.64q is one class more than %d: is this the column of the labels?", class, params.MaxTableClasses)
		}
		if err := params.CheckName("the label", class); err != nil {
			return f.errorf(label, "%v", err)
		}
		t.Classes = append(t.Classes, class)
	}
	for i, k := 0, 0; i < len(f.header); i++ {
		if i == label {
			continue
		}
		x, err := f.number(i)
		if err != nil {
			return err
		}
		c := &t.Columns[k]
		c.Low, c.High = min(c.Low, x), max(c.High, x)
		k++
	}
	return nil
}

// check refuses what no model can be made of, by the file's words.
func check(t params.Table, name string) error {
	if len(t.Columns) == 0 {
		return fmt.Errorf("%w: %s has the column %q alone, want one of inputs too", ErrTable, name, t.Label)
	}
	if len(t.Classes) < 2 {
		return fmt.Errorf("%w: %s has the labels %q in column %q, want at least two different ones", ErrTable, name, t.Classes, t.Label)
	}
	for _, c := range t.Columns {
		if c.Low == c.High {
			return fmt.Errorf("%w: column %q of %s is %g in every row: leave it out, it tells nothing", ErrTable, c.Name, name, c.Low)
		}
		if math.IsInf(c.High-c.Low, 0) {
			return fmt.Errorf("%w: column %q of %s is from %g to %g, want ends at most %g apart", ErrTable, c.Name, name, c.Low, c.High, math.MaxFloat64)
		}
	}
	return nil
}

// Load reads the examples of a file by a chain's table. Columns are found by their names; others
// are not read. A fifth of the rows, drawn by their number alone, is the test set: the same rows
// for all who have the same file.
func Load(path string, t params.Table) (mnist.Data, error) {
	f, err := open(path)
	if err != nil {
		return mnist.Data{}, err
	}
	defer f.close()
	set, err := f.read(t)
	if err != nil {
		return mnist.Data{}, err
	}
	if set.Len() < parts {
		return mnist.Data{}, fmt.Errorf("%w: %s has %d rows, want at least %d, of which one in %d is for testing", ErrTable, f.name, set.Len(), parts, parts)
	}
	order := rand.New(rand.NewPCG(uint64(set.Len()), parts)).Perm(set.Len())
	test, train := order[:set.Len()/parts], order[set.Len()/parts:]
	slices.Sort(test)
	slices.Sort(train)
	return mnist.Data{Train: set.Subset(train), Test: set.Subset(test)}, nil
}

// Examples returns how many of a number of rows are not for testing.
func Examples(rows int) int { return rows - rows/parts }

// read returns all rows as images of one line.
func (f *file) read(t params.Table) (set mnist.Set, err error) {
	label, err := f.column(t.Label)
	if err != nil {
		return set, err
	}
	at := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if at[i], err = f.column(c.Name); err != nil {
			return set, err
		}
	}
	classes := make(map[string]uint8, len(t.Classes))
	for i, class := range t.Classes {
		classes[class] = uint8(i)
	}
	set.Rows, set.Cols = 1, len(at)
	for {
		more, err := f.next()
		if err != nil || !more {
			return set, err
		}
		text, err := f.text(label)
		if err != nil {
			return set, err
		}
		class, known := classes[text]
		if !known {
			return set, f.errorf(label, "%.64q is none of the chain's classes: %s", text, strings.Join(t.Classes, ", "))
		}
		set.Labels = append(set.Labels, class)
		for i, c := range t.Columns {
			x, err := f.number(at[i])
			if err != nil {
				return set, err
			}
			set.Images = append(set.Images, level(x, c))
		}
	}
}

// level returns where a value is between the ends of its column, in 255ths. A value beyond an end
// counts as that end.
func level(x float64, c params.Column) uint8 {
	share := (min(max(x, c.Low), c.High) - c.Low) / (c.High - c.Low)
	return uint8(math.Round(share * math.MaxUint8))
}
