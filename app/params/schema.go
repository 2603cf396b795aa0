package params

import (
	"fmt"
	"math"
	"slices"
)

// maxWeight bounds the weight of a table's class from above, and 1/maxWeight bounds it from below.
const maxWeight = 1000

// Inputs returns the number of model inputs from all columns of the table.
func (t *Table) Inputs() (n int) {
	for _, c := range t.Columns {
		n += c.Inputs()
	}
	return n
}

// Inputs returns the number of model inputs from a column. A column of categories gives one input for each category. A
// column of numbers gives one input, and a second input if the column has an indicator of missing numbers.
func (c Column) Inputs() int {
	switch {
	case len(c.Values) > 0:
		return len(c.Values)
	case c.Missing != nil && c.Missing.Indicator:
		return 2
	}
	return 1
}

// Prepares reports whether the table has categories, missing values or weights of classes. Older
// programs cannot read such a table.
func (t *Table) Prepares() bool {
	prepares := func(c Column) bool { return len(c.Values) > 0 || c.Others || c.Missing != nil }
	return t != nil && (len(t.Weights) > 0 || slices.ContainsFunc(t.Columns, prepares))
}

// validate checks the bounds of a column of numbers, or the names of a column of categories.
func (c Column) validate() error {
	if len(c.Values) > 0 {
		if c.Low != 0 || c.High != 0 || c.Missing != nil {
			return fmt.Errorf("model.table column %.64q has values and also ends or a fill, which are for numbers: others is "+
				"for a missing category", c.Name)
		}
		return nameOnce(fmt.Sprintf("model.table column %.64q values", c.Name), c.Values)
	}
	switch m := c.Missing; {
	case c.Others:
		return fmt.Errorf("model.table column %.64q has others without values", c.Name)
	case !(c.Low < c.High) || math.IsInf(c.High-c.Low, 0):
		return fmt.Errorf("model.table column %.64q is from %g to %g, want numbers, the larger one second", c.Name,
			c.Low, c.High)
	case m != nil && !(c.Low <= m.Fill && m.Fill <= c.High):
		return fmt.Errorf("model.table column %.64q has fill %g, want it within the column's ends, %g to %g", c.Name, m.Fill,
			c.Low, c.High)
	}
	return nil
}

// validateWeights checks the weights of the classes.
func (t *Table) validateWeights() error {
	if n := len(t.Weights); n != 0 && n != len(t.Classes) {
		return fmt.Errorf("model.table has %d weights, want one for each of the %d classes, or none", n, len(t.Classes))
	}
	for i, w := range t.Weights {
		if !(w >= 1./maxWeight && w <= maxWeight) {
			return fmt.Errorf("model.table has weight %g for class %.64q, want %g to %d", w, t.Classes[i], 1./maxWeight,
				maxWeight)
		}
	}
	return nil
}
