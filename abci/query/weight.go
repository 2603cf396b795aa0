package query

import (
	"fmt"

	"github.com/spdl/spdl/app"
)

// weighingRule is the rule whose scores are weights: how far a gradient's weight is below an equal
// share of Delta, in units of 1/weightParts of Delta.
const weighingRule, weightParts = "agnostic-mean", 1 << 20

// FullWeight is the weight from which texts call a gradient's share a full one.
const FullWeight = 0.995

// Weighs reports whether the scores of a rule are weights of gradients.
func Weighs(rule string) bool { return rule == weighingRule }

// WeightOf returns the weight of a gradient in Delta as a share of an equal part, from 0 to 1. A
// gradient that the rule left out has weight 0. WeightOf returns nil if the record does not say how
// much a selected gradient weighs.
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

// WeightText returns a weight as people read it, "-" if it is unknown. A weight above 0 never reads
// as 0.
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
