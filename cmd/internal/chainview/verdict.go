package chainview

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// The fates of a participant in a round.
const (
	Selected = "selected" // included, and in Delta
	LeftOut  = "left-out" // included, and not selected by the rule
	Absent   = "absent"   // not included
	NotYet   = "not-yet"  // joined the epoch after the round
	Refused  = "refused"  // not included; the node did not admit a gradient that it signed
)

// A Verdict is the fate of a participant in a round, with the reason.
type Verdict struct {
	Participant uint32 `json:"participant"`
	Moniker     string `json:"moniker"`
	Fate        string `json:"fate"`
	Opposed     bool   `json:"opposed"` // by more than reputation.margin
	Leader      bool   `json:"leader"`  // closed the round
	Passed      bool   `json:"passed"`  // ranked before the leader, and did not close the round
	Score       int64  `json:"score"`
	Place       int    `json:"place"` // rank by score, from 1; 0 without a score
	// Times is the score divided by that of the last selected gradient, and Weight the share of an
	// equal part of Delta, from 0 to 1. They are null if the rule gives none.
	Times      *float64 `json:"times"`
	Weight     *float64 `json:"weight"`
	Reputation *int64   `json:"reputation"` // parts per million, after the round's block; null if absent
	Change     *int64   `json:"change"`     // by the round; null if the reputation before it is unknown
	VRFOutput  string   `json:"vrf_output"`
	Why        string   `json:"why"`

	Offence   bool `json:"-"` // two different statements of it for the round are proven
	Convicted bool `json:"-"` // evidence took its reputation since the block of the previous round
}

// Verdicts returns the verdicts on the included participants, and on the currently active ones that were not
// included, by number. before has the reputations before the round, as far as they are known. If only is not nil,
// the included participants are that one.
func Verdicts(r *app.Record, people []app.Participant, before map[uint32]int64, only *uint32) []Verdict {
	p, place, worst := PointOf(r), places(r), int64(0)
	for _, c := range r.Contributions {
		if c.Selected {
			worst = max(worst, c.Score)
		}
	}
	names := map[uint32]string{}
	for _, who := range people {
		names[who.Index] = who.Moniker
	}
	out := []Verdict{}
	for _, c := range r.Contributions {
		if only != nil && c.Participant != *only {
			continue
		}
		v := Verdict{Participant: c.Participant, Moniker: names[c.Participant], Fate: Selected, Opposed: c.Opposed,
			Leader: c.Participant == r.Leader, Score: c.Score, Reputation: &c.Reputation,
			VRFOutput: hex.EncodeToString(c.VrfOutput)}
		if !c.Selected {
			v.Fate = LeftOut
		}
		if was, ok := before[c.Participant]; ok {
			change := c.Reputation - was
			v.Change = &change
		}
		if query.Weighs(r.Rule) {
			v.Weight = query.WeightOf(r, c)
		} else if v.Place = place[c.Participant]; v.Place > 0 && worst > 0 {
			times := float64(c.Score) / float64(worst)
			v.Times = &times
		}
		out = append(out, v)
	}
	for _, who := range people {
		if who.Active && !p.Has(who.Index) {
			fate := Absent
			if r.Round < who.Joined {
				fate = NotYet
			}
			out = append(out, Verdict{Participant: who.Index, Moniker: who.Moniker, Fate: fate})
		}
	}
	for i := range out {
		out[i].Passed = slices.Contains(p.Passed, out[i].Participant)
		out[i].Why = out[i].why(r)
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Participant, b.Participant) })
	return out
}

// places returns the rank of each included participant by its score, 1 for the lowest score. It
// returns none if the rule gives no scores, or scores of mixtures that are no distances.
func places(r *app.Record) map[uint32]int {
	order := slices.Clone(r.Contributions)
	slices.SortStableFunc(order, func(a, b app.Contribution) int { return cmp.Compare(a.Score, b.Score) })
	if strings.HasSuffix(r.Rule, "+agnostic-mean") || len(order) == 0 || order[len(order)-1].Score == 0 {
		return nil
	}
	place := make(map[uint32]int, len(order))
	for i, c := range order {
		place[c.Participant] = 1 + i
	}
	return place
}

// Convict adds proven offences to the verdict: whether one is for the round, and whether the reputation after the
// round's block is that of a conviction after the block of the previous round, at height before.
func (v *Verdict) Convict(r *app.Record, before uint64, offences []app.Offence) {
	for _, o := range offences {
		if o.Participant != v.Participant {
			continue
		}
		if o.Misbehavior == 0 && o.Epoch == r.Epoch && o.Round == r.Round {
			v.Offence = true
			v.Why += fmt.Sprintf(" Two different statements of it for this round (%s) are proven in block %d.", o.Cause(),
				o.Height)
		}
		if v.Reputation == nil || o.Height <= before || o.Height > r.Height {
			continue
		}
		v.Convicted = true
		if o.Height == r.Height { // the record has the reputation before evidence in the same block
			if v.Change != nil {
				change := *v.Change - *v.Reputation
				v.Change = &change
			}
			v.Reputation = new(int64)
		}
		v.Why += fmt.Sprintf(" Its reputation is that of a conviction: the evidence in block %d set it to 0.", o.Height)
	}
}

// Reputations returns the reputations of the included participants after a round's block, in parts per million.
func Reputations(r *app.Record, offences []app.Offence) map[uint32]int64 {
	out := map[uint32]int64{}
	for _, c := range r.Contributions {
		out[c.Participant] = c.Reputation
	}
	for _, o := range offences { // the record has the reputation before evidence in the same block
		if _, in := out[o.Participant]; in && o.Height == r.Height {
			out[o.Participant] = 0
		}
	}
	return out
}

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
	case v.Fate == Absent:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round.", r.Height)
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
		far := map[bool]string{false: "close enough to its nearest others", true: "too far from its nearest others"}
		text = fmt.Sprintf("Its score is %s that of the last selected, place %d of %d: %s.", timesText(*v.Times), v.Place,
			len(r.Contributions), far[v.Fate == LeftOut])
	}
	if v.Fate == Absent && slices.Contains(r.Withheld, v.Participant) {
		text += " It had committed to one, which the ledger counts, and no valid one followed."
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
	noun := "rounds "
	if len(rounds) == 1 {
		noun = "round "
	}
	return noun + strings.Join(parts, ", ")
}

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
