package explorer

import (
	"fmt"
	"strings"
)

// mixes reports whether a rule replaces each gradient by the mean of its nearest gradients.
func mixes(rule string) bool { return strings.HasPrefix(rule, "nnm+") }

// ruleText explains why a rule gives gradients no score. It returns "" if the rule gives scores.
func ruleText(rule, measure string) string {
	switch {
	case measure == "weight" || measure == "score":
		return ""
	case mixes(rule):
		return fmt.Sprintf("The rule %s takes the mean of its nearest in place of each gradient, and gives no score.", rule)
	}
	return fmt.Sprintf("The rule %s weighs coordinates, not whole gradients, and gives no score.", rule)
}
