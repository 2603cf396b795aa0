package explorer

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/app"
)

// why explains a verdict in words. Worst is the highest score of a selected gradient.
func why(v Verdict, r *app.Record, worst int64) string {
	var text string
	n := len(r.Contributions)
	switch {
	case v.Fate == NotYet:
		text = "It was not a member yet."
	case v.Fate == Absent:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round%s.", r.Height, costOf(r))
	case v.Place == 0:
		text = fmt.Sprintf("Included. The rule %s weighs coordinates, not whole gradients: there is no score.", r.Rule)
		if strings.HasPrefix(r.Rule, "nnm+") {
			text = fmt.Sprintf("Included. By the rule %s it counts as the mean of its nearest; there is no score.", r.Rule)
		}
		if v.Fate == LeftOut {
			text = fmt.Sprintf("Left out of Delta by the rule %s.", r.Rule)
		}
	case v.Fate == LeftOut:
		text = fmt.Sprintf("Score %d is place %d of %d, the selection ends at %d: too far, by %d, from its nearest others.",
			v.Score, v.Place, n, worst, v.Score-worst)
	default:
		text = fmt.Sprintf("Score %d is place %d of %d: close enough to its nearest others.", v.Score, v.Place, n)
	}
	if v.Opposed {
		text += " It points away from Delta, by more than reputation.margin allows, and loses reputation"
		if v.Reputation != nil && *v.Reputation <= 0 {
			text += ", of which none is left"
		}
		text += "."
	}
	if v.Passed {
		text += " It was to lead before the leader that closed the round, and no aggregate of it was accepted."
	}
	return text
}

// costOf describes how many blocks a round took, if more than one.
func costOf(r *app.Record) string {
	if r.Height <= r.Opened {
		return ""
	}
	return fmt.Sprintf(": it was waited for, and the round took %d blocks instead of 1", r.Height-r.Opened+1)
}
