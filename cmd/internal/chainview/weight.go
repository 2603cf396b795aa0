package chainview

import (
	"fmt"

	"github.com/spdl/spdl/app"
)

// weighingRule is the rule whose scores tell the weights of gradients. A score is the difference
// between an equal share of Delta and the gradient's weight, in units of 1/weightParts of Delta.
const weighingRule, weightParts = "agnostic-mean", 1 << 20

// FullWeight is the min weight that texts call a full share.
const FullWeight = 0.995

// Weighs reports whether the scores of a rule tell the weights of gradients.
func Weighs(rule string) bool { return rule == weighingRule }

// WeightOf returns the weight of a gradient in Delta: 1 for an equal share, 0 for none. A gradient
// that the rule left out has weight 0. WeightOf returns nil if the record does not tell the weight
// of a selected gradient.
func WeightOf(r *app.Record, c app.Contribution) *float64 {
	weight := 0.0
	switch {
	case !c.Selected:
	case !Weighs(r.Rule):
		return nil
	default:
		equal := max(1, weightParts/max(1, len(r.Contributions)))
		weight = min(1, max(0, 1-float64(c.Score)/float64(equal)))
	}
	return &weight
}

// WeightText returns a weight as text, "-" if the weight is unknown. The text for a weight above 0
// is never "0".
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
