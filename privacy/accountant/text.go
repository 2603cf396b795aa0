package accountant

import (
	"math"
	"strconv"
)

// Text returns an epsilon with three decimals, below 0.1 with three significant digits. It rounds up,
// because epsilon is an upper bound.
func Text(epsilon float64) string {
	if epsilon-epsilon != 0 {
		return strconv.FormatFloat(epsilon, 'g', -1, 64)
	}
	decimals := 3
	if epsilon > 0 && epsilon < 0.1 {
		decimals = min(12, 2-int(math.Floor(math.Log10(epsilon))))
	}
	unit := math.Pow10(decimals)
	const slack = 1e-6 // of the last decimal: floating-point error is no spend
	return strconv.FormatFloat(max(0, math.Ceil(epsilon*unit-slack))/unit, 'f', decimals, 64)
}

// TextOr is Text, or otherwise without an epsilon.
func TextOr(epsilon *float64, otherwise string) string {
	if epsilon == nil {
		return otherwise
	}
	return Text(*epsilon)
}
