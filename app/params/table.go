package params

import (
	"cmp"
	"fmt"
	"slices"
)

// TableMean and TableScale map the levels of a table, 0 to 255 like the levels of pixels, to inputs within [-1, 1].
const TableMean, TableScale = 127.5, 127.5

// TableNo and TableYes are the levels of an input with two values, such as the input for one category. TableNo becomes
// an input next to 0, so that the inputs for the other categories hardly lengthen a row's gradient.
const TableNo, TableYes = 128, 255

// TableConstant is the last input of every row of a centred table: its weight is the intercept.
const TableConstant = 0.6

// MaxTableClasses bounds the number of a table's classes, because a label is a byte.
const MaxTableClasses = 256

// maxTableText bounds the name of a table's column or class in bytes.
const maxTableText = 128

// Validate checks a table, and that the model has as many inputs and classes as the table.
func (t *Table) Validate(m Model) error {
	switch {
	case t == nil:
		return nil
	case int(m.Inputs) != t.Inputs() && !m.Centred() || int(m.Classes) != len(t.Classes):
		return fmt.Errorf("model.table has %d columns and %d classes, and model.inputs is %d and classes %d, want the "+
			"same: the columns give %d inputs, and one more if they are centred", len(t.Columns), len(t.Classes), m.Inputs,
			m.Classes, t.Inputs())
	case len(t.Classes) > MaxTableClasses:
		return fmt.Errorf("model.table has %d classes, at most %d", len(t.Classes), MaxTableClasses)
	case m.Pool != 1 || m.Features != Features{}:
		return fmt.Errorf("model.pool is %d and features %.64q with a table, want 1 and none", m.Pool, m.Features.Name)
	}
	if err := nameOnce("model.table.classes", t.Classes); err != nil {
		return err
	}
	names := []string{t.Label}
	if t.Group != "" {
		names = append(names, t.Group)
	}
	for _, c := range t.Columns {
		names = append(names, c.Name)
		if err := cmp.Or(c.validate(), c.validateTypical(m.Centred())); err != nil {
			return err
		}
	}
	if err := nameOnce("model.table.columns, label and group", names); err != nil {
		return err
	}
	if err := cmp.Or(t.validateWeights(), t.validateRate()); err != nil {
		return err
	}
	if n := m.Size(); n > maxModel {
		return fmt.Errorf("model takes %d bytes encoded, at most %d: fewer columns or shorter names", n, maxModel)
	}
	return nil
}

// CheckName checks the name of a column or of a class: printable ASCII, not empty, at most 128 bytes.
func CheckName(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s: a name is empty", what)
	}
	return CheckText(what, name, maxTableText)
}

// nameOnce checks that each name is printable, not empty, and unique.
func nameOnce(what string, names []string) error {
	for _, name := range names {
		if err := CheckName(what, name); err != nil {
			return err
		}
	}
	sorted := slices.Sorted(slices.Values(names))
	for i, name := range sorted {
		if i > 0 && name == sorted[i-1] {
			return fmt.Errorf("%s: %q stands there twice", what, name)
		}
	}
	return nil
}
