package query

import (
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/krum/rules"
)

// weightParts is the number of parts of Delta in which rules.Weighs says that scores are counted.
const weightParts = 1 << 20

// Weighs reports whether the scores of a rule tell the weights of gradients.
func Weighs(rule string) bool { return rules.Weighs(rule) }

// WeightOf returns the weight of a gradient in Delta: 1 for an equal share, 0 for none. A gradient that the rule left
// out has weight 0. WeightOf returns nil if the record does not tell the weight of a selected gradient.
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
