package explorer

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// smallWeight is the weight below which pages mark a gradient although the rule selected it.
const smallWeight = 0.5

// Small reports whether the gradient is selected with a small weight.
func (v Verdict) Small() bool {
	return v.Fate == Selected && v.Weight != nil && *v.Weight < smallWeight
}

// WeightNote is the weight of a selected gradient if it is not a full share, otherwise "".
func (v Verdict) WeightNote() string {
	if v.Fate != Selected || v.Weight == nil || *v.Weight >= chainview.FullWeight {
		return ""
	}
	return ", weight " + chainview.WeightText(v.Weight)
}

// scale sets the meaning of a score: a share of Delta, or a rank and the ratio to the highest
// selected score.
func (v *Verdict) scale(r *app.Record, c app.Contribution, place map[uint32]int, worst int64) {
	if chainview.Weighs(r.Rule) {
		v.Weight = chainview.WeightOf(r, c)
		return
	}
	if v.Place = place[c.Participant]; v.Place > 0 && worst > 0 {
		times := float64(c.Score) / float64(worst)
		v.Times = &times
	}
}

// Why explains in words the fate of a participant's gradient that is included in a round.
func Why(r *app.Record, participant uint32) string {
	for _, v := range verdicts(r, nil, nil, &participant) {
		return v.Why
	}
	return ""
}

// why explains a verdict in words, from the record only.
func why(v Verdict, r *app.Record) string {
	var text string
	switch {
	case v.Fate == NotYet:
		text = "It was not a member yet."
	case v.Fate == Absent:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round%s.", r.Height, costOf(r))
	case v.Weight != nil:
		text = weightText(*v.Weight)
	case v.Place == 0:
		text = unscoredText(v, r.Rule)
	case v.Times == nil:
		text = fmt.Sprintf("Score %d is place %d of %d.", v.Score, v.Place, len(r.Contributions))
	case v.Fate == LeftOut:
		text = fmt.Sprintf("Its score is %s that of the last selected, place %d of %d: too far from its nearest others.",
			timesText(*v.Times), v.Place, len(r.Contributions))
	default:
		text = fmt.Sprintf("Its score is %s that of the last selected, place %d of %d: close enough to its nearest others.",
			timesText(*v.Times), v.Place, len(r.Contributions))
	}
	return text + opposedText(v)
}

// weightText explains the weight of a gradient.
func weightText(weight float64) string {
	switch {
	case weight >= chainview.FullWeight:
		return "It has a full share of Delta."
	case weight == 0:
		return "Weight 0: it lies apart from the others in a direction in which noise does not spread gradients so far."
	}
	return fmt.Sprintf("It has %s of an equal share of Delta: it lies apart from the others in a direction in which "+
		"noise does not spread gradients so far.", chainview.WeightText(&weight))
}

// unscoredText explains the fate of a gradient if the rule has no scores.
func unscoredText(v Verdict, rule string) string {
	if v.Fate == LeftOut {
		return fmt.Sprintf("Left out of Delta by the rule %s.", rule)
	}
	return "Included."
}

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

// opposedText explains the penalty of an opposed gradient.
func opposedText(v Verdict) string {
	if !v.Opposed {
		return ""
	}
	text := " It points away from Delta, by more than reputation.margin allows, and loses reputation"
	switch {
	case v.Change != nil && *v.Change < 0:
		text += fmt.Sprintf(": %.4g", -float64(*v.Change)/params.One)
	case v.Reputation != nil && *v.Reputation <= 0:
		return text + ", of which none is left."
	}
	if v.Reputation != nil && *v.Reputation <= 0 {
		text += ", and none is left"
	}
	return text + "."
}

// timesText returns a ratio in everyday words.
func timesText(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("%.0f times", x)
	case x > 1:
		return fmt.Sprintf("%.4g times", x)
	case x == 1:
		return "just"
	}
	return fmt.Sprintf("%.3g of", x)
}

// costOf says how many blocks a round took, if it took more than one.
func costOf(r *app.Record) string {
	if r.Height <= r.Opened {
		return ""
	}
	return fmt.Sprintf(": it was waited for, and the round took %d blocks instead of 1", r.Height-r.Opened+1)
}
