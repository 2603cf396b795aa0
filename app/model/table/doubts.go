package table

import (
	"fmt"
	"strconv"
	"strings"
)

// Doubts returns warnings about the classes of a table, by the number of their rows: of each that one row alone has,
// and of two that most readers take for one, such as "1" and "01".
func Doubts(classes []string, rows map[string]int) (list []string) {
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
