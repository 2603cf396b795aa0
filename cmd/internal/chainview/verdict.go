package chainview

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
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
