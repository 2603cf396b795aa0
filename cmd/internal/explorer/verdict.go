package explorer

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

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
	convicted bool // evidence took its reputation since the block of the previous round
}

// convict adds proven offences to the verdict: whether one is for the round, and whether the
// reputation after the round's block is that of a conviction after the block of the previous round,
// at height before.
func (v *Verdict) convict(p Point, before uint64, offences []app.Offence) {
	for _, o := range offences {
		if o.Participant != v.Participant {
			continue
		}
		if o.Misbehavior == 0 && o.Epoch == p.Epoch && o.Round == p.Round {
			v.Offence = true
			v.Why += fmt.Sprintf(" Two different statements of it for this round (%s) are proven in block %d.", o.Cause(),
				o.Height)
		}
		if v.Reputation != nil && before < o.Height && o.Height <= p.Height {
			v.convicted = true
			if o.Height == p.Height {
				v.loseReputation()
			}
			v.Why += fmt.Sprintf(" Its reputation is that of a conviction: the evidence in block %d set it to 0.", o.Height)
		}
	}
}

// loseReputation sets the reputation to 0. The record of a round has the reputation before evidence in
// the same block.
func (v *Verdict) loseReputation() {
	if v.Change != nil {
		change := *v.Change - *v.Reputation
		v.Change = &change
	}
	v.Reputation = new(int64)
}

// A Story is a closed round with the verdict on every participant.
type Story struct {
	Epoch    uint64    `json:"epoch"`
	Round    uint64    `json:"round"`
	Opened   uint64    `json:"opened"`
	Height   uint64    `json:"height"`
	Leader   uint32    `json:"leader"`
	View     uint32    `json:"view"`
	Ranking  []uint32  `json:"ranking"`
	Rule     string    `json:"rule"`
	Margin   *int64    `json:"margin"` // null if the rule selects no gradients
	Delta    string    `json:"delta_digest"`
	Model    string    `json:"model_hash"`
	Seed     string    `json:"seed"`
	Accuracy *float64  `json:"accuracy"`
	Examples int       `json:"examples"` // test rows that the accuracy was measured on; 0 if it was not
	Loss     *float64  `json:"loss"`
	Verdicts []Verdict `json:"verdicts"`
}

// story returns a closed round with its verdicts.
func (s *Server) story(ctx context.Context, at params.RoundID) (*Story, error) {
	r, err := s.source.record(ctx, at)
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	since := uint64(0)
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return nil, err
	}
	if at.Round > 0 {
		last, err := s.source.record(ctx, params.RoundID{Epoch: at.Epoch, Round: at.Round - 1})
		if err != nil {
			return nil, err
		}
		since = last.Height
	}
	before, err := s.before(ctx, at, people, offences)
	if err != nil {
		return nil, err
	}
	out := &Story{
		Epoch: r.Epoch, Round: r.Round, Opened: r.Opened, Height: r.Height, Leader: r.Leader, View: r.View,
		Ranking: append([]uint32{}, r.Ranking...),
		Rule:    r.Rule, Margin: marginOf(r), Delta: hex.EncodeToString(r.DeltaDigest),
		Model:    hex.EncodeToString(r.ModelHash),
		Seed:     hex.EncodeToString(r.Seed),
		Verdicts: verdicts(r, people, before, nil),
	}
	s.seen(ctx, r).tell(out.Verdicts, r)
	for i := range out.Verdicts {
		out.Verdicts[i].convict(pointOf(r), since, offences)
	}
	_, _, points, _ := s.tail.now()
	for i := range points {
		if points[i].Epoch == r.Epoch && points[i].Round == r.Round {
			out.Accuracy, out.Loss, out.Examples = points[i].Accuracy, points[i].Loss, points[i].Examples
		}
	}
	return out, nil
}

// verdicts returns the verdicts on the included participants, and on the currently active ones that
// were not included. If only is not nil, it returns only the verdict on that participant.
func verdicts(r *app.Record, people []app.Participant, before map[uint32]int64, only *uint32) []Verdict {
	passed, place, worst := pointOf(r).Passed, places(r), worstSelected(r)
	names := map[uint32]string{}
	for _, p := range people {
		names[p.Index] = p.Moniker
	}
	out := []Verdict{}
	in := map[uint32]bool{}
	for _, c := range r.Contributions {
		in[c.Participant] = true
		if only != nil && c.Participant != *only {
			continue
		}
		v := verdictOn(c, before)
		v.Moniker, v.Leader, v.Passed = names[c.Participant], c.Participant == r.Leader,
			slices.Contains(passed, c.Participant)
		v.scale(r, c, place, worst)
		v.Why = why(v, r)
		out = append(out, v)
	}
	for _, p := range people {
		if p.Active && !in[p.Index] {
			v := Verdict{Participant: p.Index, Moniker: p.Moniker, Fate: Absent, Passed: slices.Contains(passed, p.Index)}
			if r.Round < p.Joined {
				v.Fate = NotYet
			}
			v.Why = why(v, r)
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Participant, b.Participant) })
	return out
}

// verdictOn returns the verdict that follows from a contribution alone. The map before has the
// reputations before the round.
func verdictOn(c app.Contribution, before map[uint32]int64) Verdict {
	v := Verdict{
		Participant: c.Participant, Fate: Selected, Opposed: c.Opposed, Score: c.Score, Reputation: &c.Reputation,
		VRFOutput: hex.EncodeToString(c.VrfOutput),
	}
	if !c.Selected {
		v.Fate = LeftOut
	}
	if was, ok := before[c.Participant]; ok {
		change := c.Reputation - was
		v.Change = &change
	}
	return v
}

// places returns the rank of each included participant by its score, 1 for the lowest score. It
// returns none if the rule gives no scores, or scores of mixtures that are no distances.
func places(r *app.Record) map[uint32]int {
	if strings.HasSuffix(r.Rule, "+agnostic-mean") {
		return nil
	}
	order := slices.Clone(r.Contributions)
	slices.SortStableFunc(order, func(a, b app.Contribution) int { return cmp.Compare(a.Score, b.Score) })
	if len(order) == 0 || order[len(order)-1].Score == 0 {
		return nil
	}
	place := make(map[uint32]int, len(order))
	for i, c := range order {
		place[c.Participant] = 1 + i
	}
	return place
}

// worstSelected returns the highest score of a selected gradient, 0 if there is none.
func worstSelected(r *app.Record) (worst int64) {
	for _, c := range r.Contributions {
		if c.Selected {
			worst = max(worst, c.Score)
		}
	}
	return worst
}
