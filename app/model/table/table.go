// Package table reads tables from CSV files. [Shape] makes the description of a table that a chain's parameters hold,
// and [Load] reads a participant's examples with that description. Load turns values into levels from 0 to 255, like
// the levels of pixels, so that code for images works on tables. An error about a value names its line and column and
// does not quote the value, because rows are private.
package table

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// ErrTable is wrapped by every error of this package, except the errors of the file system.
var ErrTable = errors.New("bad table")

// parts is the number of equal parts of a table, one of which is the test set.
const parts = 5

// Shape returns the description of the table in a file, and the number of its units: its groups, or its rows if group
// is empty. The description names the label column and the group column. Every other column is an input, in the order
// of the file, with its min and max value. The classes are the texts in the label column, in the order of their bytes.
func Shape(path, label, group string) (t params.Table, units int, err error) {
	f, err := openFile(path)
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
			f.note(i, &fault{text: err.Error()})
		}
		if i != at && name != group {
			t.Columns = append(t.Columns, params.Column{Name: name, Low: math.Inf(1), High: math.Inf(-1)})
		}
	}
	t.Label, t.Group = label, group
	n, err := f.groupNumbers(group)
	if err != nil {
		return t, 0, err
	}
	for more := true; more; {
		if more, err = f.readRow(); more {
			err = widen(&t, f, at)
			n.numberOf(f)
		}
		if err != nil {
			return t, 0, err
		}
	}
	slices.Sort(t.Classes)
	if err = check(t, f); errors.As(err, new(*fault)) {
		with := ""
		if group != "" {
			with = fmt.Sprintf(" --group %q", group)
		}
		err = fmt.Errorf("%w: `spdl schema draft %q --label %q%s` drafts a schema with categories and missing values, "+
			"without the columns that are no inputs", err, path, label, with)
	}
	return t, n.units(f), err
}

// widen extends the ranges and classes of a table to include the current row.
func widen(t *params.Table, f *file, label int) error {
	class, err := f.text(label)
	f.note(label, err)
	if err == nil && !slices.Contains(t.Classes, class) {
		if len(t.Classes) == params.MaxTableClasses {
			return f.errorf(label, "one class more than %d: is this the column of the labels?", params.MaxTableClasses)
		}
		if params.CheckName("the label", class) != nil {
			return f.errorf(label, "the label is not 1 to 128 bytes of printable ASCII")
		}
		t.Classes = append(t.Classes, class)
	}
	for i, k := 0, 0; i < len(f.header); i++ {
		if i == label || f.header[i] == t.Group {
			continue
		}
		c := &t.Columns[k]
		k++
		if f.faulty[i] {
			continue
		}
		x, err := f.number(i)
		if f.note(i, err); err != nil {
			continue
		}
		c.Low, c.High = min(c.Low, x), max(c.High, x)
	}
	return nil
}

// check returns an error if no model can be trained on the table of a file.
func check(t params.Table, f *file) error {
	if len(t.Columns) == 0 {
		return fmt.Errorf("%w: %s has the column %q alone, want one of inputs too", ErrTable, f.name, t.Label)
	}
	for _, c := range t.Columns {
		switch at := f.at[c.Name]; {
		case f.faulty[at]:
		case c.Low == c.High:
			f.faults = append(f.faults, fmt.Sprintf("column %q: %g in every row, leave it out, it tells nothing", c.Name, c.Low))
		case f.rows > 0 && math.IsInf(c.High-c.Low, 0):
			f.faults = append(f.faults, fmt.Sprintf("column %q: from %g to %g, want ends at most %g apart", c.Name, c.Low,
				c.High, math.MaxFloat64))
		}
	}
	err := f.fault()
	if err == nil && len(t.Classes) < 2 {
		err = fmt.Errorf("%w: %s has the labels %q in column %q, want at least two different ones", ErrTable, f.name,
			t.Classes, t.Label)
	}
	return err
}

// Units reads a whole file by a table's description, and returns the number of groups, or the
// number of rows if the table has no groups. It fails if the file does not fit the description.
func Units(path string, t params.Table) (int, error) {
	f, _, n, err := readAll(path, t)
	if err != nil {
		return 0, err
	}
	return n.units(f), nil
}

// Load reads the examples in a file by a chain's table. It finds the table's columns by name and ignores all other
// columns. About a fifth of the rows become the test set. The hash of a row's texts decides, so that adding or removing
// a row moves no other row between the two sets, and an epoch with another table moves none either. With groups the
// hash of the group's name decides, so that all rows of a group are in one set.
func Load(path string, t params.Table) (mnist.Data, error) {
	f, set, _, err := readAll(path, t)
	if err != nil {
		return mnist.Data{}, err
	}
	var sides [2][]int // the indices of the rows of the training set, and of the test set
	for i, side := range f.sides {
		sides[side] = append(sides[side], i)
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return mnist.Data{}, fmt.Errorf("%w: of the %d rows of %s, %d are for testing: want more rows, of which about one "+
			"in %d is, by a hash of the row", ErrTable, set.Len(), f.name, len(sides[1]), parts)
	}
	return mnist.Data{Train: set.Subset(sides[0]), Test: set.Subset(sides[1])}, nil
}

// Chances reads the probabilities that a model gives the rows of a file, one for each row in the rows' order, and
// returns those of the test rows. They are a file's only column, or the one named by the positive class.
func Chances(path, rows string, t params.Table) (test []float64, err error) {
	of, _, _, err := readAll(rows, t)
	if err != nil {
		return nil, err
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	column := t.Classes[1]
	if len(f.header) == 1 {
		column = f.header[0]
	}
	at, err := f.column(column)
	if err != nil {
		return nil, err
	}
	err = f.each(nil, func([]string) error {
		x, err := f.number(at)
		if err == nil && (x < 0 || x > 1) {
			err = f.errorf(at, "%g, want a probability from 0 to 1", x)
		}
		if f.rows <= len(of.sides) && of.sides[f.rows-1] == 1 {
			test = append(test, x)
		}
		return err
	})
	if err == nil && f.rows != len(of.sides) {
		err = fmt.Errorf("%w: %s has %d probabilities below its header, want one for each of the %d rows of %s, in their "+
			"order", ErrTable, f.name, f.rows, len(of.sides), of.name)
	}
	return test, err
}

// side returns 1 if the current row belongs to the test set, and 0 if not. The first eight bytes of a
// SHA-256 hash, as a big-endian number, are divisible by parts in the test set. If the file has
// groups, the hash is of the group's name, so that a group is never split. If not, it is of the names
// and texts of all columns of the file, in the order of the names: nothing that an epoch can change.
func (f *file) side(n *groupNumbers) int {
	content := []byte("spdl/table/v2")
	if n != nil {
		content = append([]byte("spdl/group/v1"), strings.TrimSpace(f.row[n.column])...)
	} else {
		for _, name := range f.names {
			content = append(append(content, name...), 0)
			content = append(append(content, strings.TrimSpace(f.row[f.at[name]])...), 0)
		}
	}
	hash := sha256.Sum256(content)
	if binary.BigEndian.Uint64(hash[:])%parts == 0 {
		return 1
	}
	return 0
}

// Examples returns the approximate number of units, rows or groups, in the training set of a table with that many.
func Examples(units int) int { return units - units/parts }

// readAll reads a whole file by a table's description.
func readAll(path string, t params.Table) (*file, mnist.Set, *groupNumbers, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, mnist.Set{}, nil, err
	}
	defer f.close()
	set, n, err := f.read(t)
	return f, set, n, err
}

// read reads all rows as images that are one pixel high, with a pixel for each input of the model.
// n numbers the groups; nil means that the table has no groups.
func (f *file) read(t params.Table) (set mnist.Set, n *groupNumbers, err error) {
	if n, err = f.groupNumbers(t.Group); err != nil {
		return set, n, err
	}
	label, err := f.column(t.Label)
	if err != nil {
		return set, n, err
	}
	at := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if at[i], err = f.column(c.Name); err != nil {
			return set, n, err
		}
	}
	classes := make(map[string]uint8, len(t.Classes))
	for i, class := range t.Classes {
		classes[class] = uint8(i)
	}
	set.Rows, set.Cols = 1, t.Inputs()
	for {
		more, err := f.readRow()
		if err != nil || !more {
			return set, n, cmp.Or(err, f.fault())
		}
		text, err := f.text(label)
		f.note(label, err)
		class, known := classes[text]
		if !known {
			f.note(label, f.errorf(label, "the label is none of the chain's classes: %s", strings.Join(t.Classes, ", ")))
		}
		set.Labels = append(set.Labels, class)
		if group := n.numberOf(f); n != nil {
			set.Groups = append(set.Groups, group)
		}
		f.sides = append(f.sides, f.side(n))
		for i, c := range t.Columns {
			if f.faulty[at[i]] {
				continue
			}
			set.Images, err = f.appendLevels(set.Images, at[i], c)
			f.note(at[i], err)
		}
	}
}
