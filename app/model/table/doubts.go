package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// Doubts returns warnings about the classes of a table that Shape has described: of each that one row
// alone has, and of two that most readers take for one, such as "1" and "01".
func Doubts(path string, t params.Table) ([]string, error) {
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
		if err != nil || !more {
			return doubts(t.Classes, rows), err
		}
		rows[strings.TrimSpace(f.row[label])]++
	}
}

// doubts warns of classes by the number of their rows.
func doubts(classes []string, rows map[string]int) (list []string) {
	for i, class := range classes {
		if rows[class] == 1 {
			list = append(list, fmt.Sprintf("one row alone has the class %q: is it a mistake?", class))
		}
		for _, other := range classes[:i] {
			if areAlike(class, other) {
				list = append(list, fmt.Sprintf("%q and %q are two classes: write one as the other if they are the same", other,
					class))
			}
		}
	}
	return list
}

// areAlike reports whether two labels are the same number, or the same letters.
func areAlike(a, b string) bool {
	x, failed := strconv.ParseFloat(a, 64)
	y, err := strconv.ParseFloat(b, 64)
	return failed == nil && err == nil && x == y || strings.EqualFold(a, b)
}
