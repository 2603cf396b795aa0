package params

import (
	"cmp"
	"fmt"
	"math"
)

// leastRate bounds the rate of a table from below, and 1-leastRate bounds it from above.
const leastRate = 0.001

// Centre returns the value of each input of a typical row, which a centred model subtracts. It
// follows from the table's typical values. Without one a number is the fill or else the middle, the
// categories have equal shares, and no number is missing.
func (t *Table) Centre() (out []float64) {
	no := (TableNo - TableMean) / TableScale
	answer := func(share float64) float64 { return no + float64(share*(1-no)) }
	for _, c := range t.Columns {
		for i := range c.Values {
			share := 1 / float64(len(c.Values))
			if len(c.Shares) > 0 {
				share = c.Shares[i]
			}
			out = append(out, answer(share))
		}
		if len(c.Values) > 0 {
			continue
		}
		typical := c.Low + (c.High-c.Low)/2
		if c.Missing != nil {
			typical = c.Missing.Fill
		}
		if c.Typical != nil {
			typical = *c.Typical
		}
		out = append(out, 2*((typical-c.Low)/(c.High-c.Low))-1)
		if c.Inputs() > 1 {
			out = append(out, answer(c.Missing.Share))
		}
	}
	return out
}

// TypicalRate returns the typical share of the second of two classes. Without a rate it is the share
// that the weights balance, or a half.
func (t *Table) TypicalRate() float64 {
	if t.Rate == 0 && len(t.Weights) > 0 {
		return t.Weights[0] / (t.Weights[0] + t.Weights[1])
	}
	return cmp.Or(t.Rate, 0.5)
}

// WeightedRate returns the typical share of the second of two classes after its examples are
// multiplied by their weights, within [leastRate, 1-leastRate]. It has the same bits on every machine.
func (t *Table) WeightedRate() float64 {
	rate, w := t.TypicalRate(), t.Weights
	if len(w) == 0 {
		return rate
	}
	second := float64(rate * w[1])
	return min(max(second/(second+float64((1-rate)*w[0])), leastRate), 1-leastRate)
}

// validateTypical checks the typical values of a column, which only a centred model uses.
func (c Column) validateTypical(centred bool) error {
	share := 0.0
	if c.Missing != nil {
		share = c.Missing.Share
	}
	total := 0.0
	for _, s := range c.Shares {
		if !(s >= 0 && s <= 1) {
			return fmt.Errorf("model.table column %.64q has a share of %g, want within [0, 1]", c.Name, s)
		}
		total += s
	}
	const slack = 1e-6 // of shares in decimal digits
	switch given := c.Typical != nil || len(c.Shares) > 0 || share != 0; {
	case given && !centred:
		return fmt.Errorf("model.table column %.64q has typical values, and model.inputs is without the constant of a "+
			"centred table", c.Name)
	case c.Typical != nil && (len(c.Values) > 0 || !(c.Low <= *c.Typical && *c.Typical <= c.High)):
		return fmt.Errorf("model.table column %.64q has typical %g, want a number within its ends, %g to %g", c.Name,
			*c.Typical, c.Low, c.High)
	case len(c.Shares) > 0 && len(c.Shares) != len(c.Values) || total > 1+slack:
		return fmt.Errorf("model.table column %.64q has %d shares with sum %g for %d values, want one for each, and a sum of "+
			"at most 1", c.Name, len(c.Shares), total, len(c.Values))
	case !(share >= 0 && share <= 1) || share != 0 && !c.Missing.Indicator:
		return fmt.Errorf("model.table column %.64q has a share %g of missing numbers, want within [0, 1], and an indicator",
			c.Name, share)
	}
	return nil
}

// validateRate checks the typical share of the second class.
func (t *Table) validateRate() error {
	if t.Rate != 0 && (len(t.Classes) != 2 || math.Abs(t.Rate-0.5) > 0.5-leastRate || math.IsNaN(t.Rate)) {
		return fmt.Errorf("model.table has rate %g and %d classes, want %g to %g for the second of 2 classes, or none", t.Rate,
			len(t.Classes), leastRate, 1-leastRate)
	}
	return nil
}
