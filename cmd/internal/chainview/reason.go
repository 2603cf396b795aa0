package chainview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// smallWeight is the weight below which pages mark a gradient although the rule selected it.
const smallWeight = 0.5

// Small reports whether the gradient is selected with a small weight.
func (v Verdict) Small() bool {
	return v.Fate == Selected && v.Weight != nil && *v.Weight < smallWeight
}

// WeightNote is the weight of a selected gradient if it is not a full share, otherwise "".
func (v Verdict) WeightNote() string {
	if v.Fate != Selected || v.Weight == nil || *v.Weight >= FullWeight {
		return ""
	}
	return ", weight " + WeightText(v.Weight)
}

// why explains a verdict in words, from the record only.
func (v *Verdict) why(r *app.Record) string {
	const apart = "it lies apart from the others in a direction in which noise does not spread gradients so far."
	var text string
	switch {
	case v.Fate == NotYet:
		text = "It was not a member yet."
	case v.Fate == Absent && r.Height <= r.Opened:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round.", r.Height)
	case v.Fate == Absent:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round: it was waited for, and the round took "+
			"%d blocks instead of 1.", r.Height, r.Height-r.Opened+1)
	case v.Weight != nil && *v.Weight >= FullWeight:
		text = "It has a full share of Delta."
	case v.Weight != nil && *v.Weight == 0:
		text = "Weight 0: " + apart
	case v.Weight != nil:
		text = fmt.Sprintf("It has %s of an equal share of Delta: %s", WeightText(v.Weight), apart)
	case v.Place == 0 && v.Fate == LeftOut:
		text = fmt.Sprintf("Left out of Delta by the rule %s.", r.Rule)
	case v.Place == 0:
		text = "Included."
	case v.Times == nil:
		text = fmt.Sprintf("Score %d is place %d of %d.", v.Score, v.Place, len(r.Contributions))
	default:
		far := "close enough to its nearest others"
		if v.Fate == LeftOut {
			far = "too far from its nearest others"
		}
		text = fmt.Sprintf("Its score is %s that of the last selected, place %d of %d: %s.", timesText(*v.Times), v.Place,
			len(r.Contributions), far)
	}
	return text + v.opposed()
}

// opposed explains the penalty of an opposed gradient.
func (v *Verdict) opposed() string {
	if !v.Opposed {
		return ""
	}
	text := " It points away from Delta, by more than reputation.margin allows, and loses reputation"
	none := v.Reputation != nil && *v.Reputation <= 0
	switch {
	case v.Change != nil && *v.Change < 0:
		text += fmt.Sprintf(": %.4g", -float64(*v.Change)/params.One)
	case none:
		return text + ", of which none is left."
	}
	if none {
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

// RejectionText returns why a gradient was rejected, without the number of the rule.
func RejectionText(x query.Rejection) string {
	switch {
	case x.MinNorm > 0 && x.Norm < x.MinNorm:
		return fmt.Sprintf("norm %.0f; the noise alone makes at least %.0f", x.Norm, x.MinNorm)
	case x.MaxNorm > 0 && x.Norm > x.MaxNorm:
		return fmt.Sprintf("norm %.0f; noise and clipped examples make at most %.0f", x.Norm, x.MaxNorm)
	}
	_, text := app.SplitRule(x.Log)
	return text
}

// A Witness is what the node saw of a closed round in addition to the record. It proves nothing, and
// another node may have seen something else.
type Witness struct {
	Rejections []query.Rejection
	Attempts   []query.Attempt
	Attended   bool // the node saw the round close, so Attempts has all that it saw
	Election   params.Election
	Points     []Point // the course of the chain
}

// Tell adds to the reasons of verdicts what the node saw.
func (x Witness) Tell(verdicts []Verdict, r *app.Record) {
	for i := range verdicts {
		v := &verdicts[i]
		if x.Reject(v); v.Fate == Absent {
			v.Why += x.earlier(v.Participant, r)
		}
		if v.Passed {
			v.Why += " It was to lead, and " + x.Turn(v.Participant, r) + "."
		}
	}
}

// Reject marks an absent participant whose gradient the node rejected.
func (x Witness) Reject(v *Verdict) {
	if v.Fate != Absent {
		return
	}
	for _, y := range x.Rejections {
		switch {
		case y.Participant != v.Participant:
		case y.Signed:
			v.Fate = Refused
			v.Why += fmt.Sprintf(" This node rejected its gradient (%s): %s.", y.Reason, RejectionText(y))
		default:
			v.Why += fmt.Sprintf(" This node rejected a gradient in its name (%s); anybody may have sent that.", y.Reason)
		}
	}
}

// earlier says in which earlier rounds the node rejected a participant's gradients. A round does not wait for a
// participant that missed several rounds, so such a participant is absent in this round too.
func (x Witness) earlier(participant uint32, r *app.Record) string {
	var rounds []uint64
	for _, p := range x.Points {
		if p.Epoch == r.Epoch && p.Round < r.Round && slices.Contains(p.Refused, participant) {
			rounds = append(rounds, p.Round)
		}
	}
	if len(rounds) == 0 {
		return ""
	}
	return fmt.Sprintf(" This node rejected its gradients of %s; after such rounds the next ones do "+
		"not wait for it.", RoundsText(rounds))
}

// Turn says why a leader that was passed over did not close the round.
func (x Witness) Turn(leader uint32, r *app.Record) string {
	for _, a := range x.Attempts {
		switch {
		case a.Leader != leader:
			continue
		case len(a.Digest) >= 8 && len(a.Recomputed) >= 8 && a.Digest != a.Recomputed:
			return fmt.Sprintf("the digest of its aggregate, %s, is not the rule's, %s", a.Digest[:8], a.Recomputed[:8])
		case a.Log != "":
			return "its aggregate was not valid: " + RejectionText(query.Rejection{Log: a.Log})
		}
		return "its aggregate was in no block before its turn ended"
	}
	first := r.Opened
	for view, index := range r.Ranking {
		if index == leader && view > 0 {
			first = r.Opened + x.Election.QuorumBlocks + uint64(view)*x.Election.ViewBlocks
		}
	}
	heights := int64(r.Height) - int64(first)
	switch {
	case !x.Attended || heights <= 0:
		return "no aggregate of it was accepted"
	case heights == 1:
		return fmt.Sprintf("this node saw no aggregate of it in 1 height from %d on", first)
	}
	return fmt.Sprintf("this node saw no aggregate of it in %d heights from %d on", heights, first)
}

// RoundsText returns ascending rounds as text: "round 3", or ranges.
func RoundsText(rounds []uint64) string {
	var parts []string
	for i := 0; i < len(rounds); {
		j := i
		for j+1 < len(rounds) && rounds[j+1] == rounds[j]+1 {
			j++
		}
		part := fmt.Sprint(rounds[i])
		if j > i {
			part += fmt.Sprintf(" to %d", rounds[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	const most = 10
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more times", more))
	}
	noun := map[bool]string{true: "round ", false: "rounds "}[len(rounds) == 1]
	return noun + strings.Join(parts, ", ")
}
