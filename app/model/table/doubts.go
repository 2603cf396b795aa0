package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// Doubts returns warnings about the classes of a table that Shape has described: of each that one row
// alone has, and of two that most readers take for one, such as "1" and "01".
func Doubts(path string, t params.Table) (doubts []string, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	label, err := f.column(t.Label)
	if err != nil {
		return nil, err
	}
	rows := map[string]int{}
	for {
		more, err := f.readRow()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		rows[strings.TrimSpace(f.row[label])]++
	}
	for i, class := range t.Classes {
		if rows[class] == 1 {
			doubts = append(doubts, fmt.Sprintf("one row alone has the class %q: is it a mistake?", class))
		}
		for _, other := range t.Classes[:i] {
			if areAlike(class, other) {
				doubts = append(doubts, fmt.Sprintf("%q and %q are two classes: write one as the other if they are the same", other,
					class))
			}
		}
	}
	return doubts, nil
}

// areAlike reports whether two labels are the same number, or the same letters.
func areAlike(a, b string) bool {
	x, failed := strconv.ParseFloat(a, 64)
	y, err := strconv.ParseFloat(b, 64)
	return failed == nil && err == nil && x == y || strings.EqualFold(a, b)
}
