package table

import (
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// appendLevels appends the levels for the current row's value in a column. A column of numbers has one level. If the
// column has an indicator of missing numbers, a second level says whether the number is missing. A column of categories
// has one level for each category. The error wraps ErrTable.
func (f *file) appendLevels(dst []uint8, at int, c params.Column) ([]uint8, error) {
	text := strings.TrimSpace(f.row[at])
	if len(c.Values) > 0 {
		which := f.category(text, c.Values)
		if which < 0 && !c.Others {
			return dst, f.errorf(at, "the value is none of the chain's: %s", sample(c.Values))
		}
		for i := range c.Values {
			dst = append(dst, answerLevel(i == which))
		}
		return dst, nil
	}
	x, missing := 0.0, c.Missing != nil && isMissing(text)
	if missing {
		x = c.Missing.Fill
	} else {
		var err error
		if x, err = f.number(at); err != nil {
			return dst, err
		}
	}
	dst = append(dst, level(x, c))
	if c.Inputs() > 1 {
		dst = append(dst, answerLevel(missing))
	}
	return dst, nil
}

// category returns the index of a text among values, or else of the same number (pandas writes 3 as 3.0 where another
// row has none), and -1 if there is neither.
func (f *file) category(text string, values []string) int {
	if which := slices.Index(values, text); which >= 0 {
		return which
	}
	x, number := f.parse(text)
	return slices.IndexFunc(values, func(v string) bool { y, is := f.parse(v); return number && is && x == y })
}

func answerLevel(it bool) uint8 {
	if it {
		return params.TableYes
	}
	return params.TableNo
}

// level returns the position of a value between the column's Low and High, in 255ths. A value below
// Low counts as Low, a value above High as High.
func level(x float64, c params.Column) uint8 {
	share := (min(max(x, c.Low), c.High) - c.Low) / (c.High - c.Low)
	return uint8(math.Round(share * math.MaxUint8))
}
