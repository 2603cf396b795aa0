package chainview

import "fmt"

// FullWeight is the min weight that texts call a full share.
const FullWeight = 0.995

// WeightText returns a weight as text, "-" if the weight is unknown. The text for a weight above 0 is never "0".
func WeightText(weight *float64) string {
	switch {
	case weight == nil:
		return "-"
	case *weight <= 0:
		return "0"
	case *weight < 0.001:
		return "<0.001"
	case *weight < 0.01:
		return fmt.Sprintf("%.3f", *weight)
	}
	return fmt.Sprintf("%.2f", *weight)
}
