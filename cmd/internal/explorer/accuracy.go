package explorer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

// fewRows is the number of test rows below which a page shows an accuracy with its interval.
const fewRows = 1000

// accuracyText returns an accuracy with the number of rows that it was measured on, and with its 95
// % interval if they are few.
func accuracyText(p chainview.Point) string {
	if p.Accuracy == nil {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%.2f %% %s", 100**p.Accuracy, rowsText(p)))
}

// rowsText returns the phrase "of N rows" that follows an accuracy, with the interval if N is
// small. It returns "" if N is unknown.
func rowsText(p chainview.Point) string {
	switch {
	case p.Accuracy == nil || p.Examples <= 0:
		return ""
	case p.Examples >= fewRows:
		return fmt.Sprintf("of %s rows", grouped(p.Examples))
	}
	low, high := interval(*p.Accuracy, p.Examples)
	return fmt.Sprintf("of %s rows (95 %% interval %.1f to %.1f %%)", grouped(p.Examples), 100*low, 100*high)
}

// interval returns the 95 % interval of a share of n rows, by Wilson (Journal of the American
// Statistical Association 22, 1927). This interval stays within 0 and 1, and has a width even if
// all rows are right.
func interval(share float64, n int) (low, high float64) {
	const z = 1.959964
	rows := float64(n)
	middle := share + z*z/(2*rows)
	around := z * math.Sqrt(share*(1-share)/rows+z*z/(4*rows*rows))
	return max(0, (middle-around)/(1+z*z/rows)), min(1, (middle+around)/(1+z*z/rows))
}

// grouped returns a number with a comma before each three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
