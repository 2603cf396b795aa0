package explorer

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

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
	Place       int    `json:"place"`      // rank by score, from 1; 0 without a score
	Reputation  *int64 `json:"reputation"` // parts per million, after the round; null if absent
	Change      *int64 `json:"change"`     // by the round; null if the reputation before it is unknown
	VRFOutput   string `json:"vrf_output"`
	Why         string `json:"why"`
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
	Margin   int64     `json:"margin"`
	Delta    string    `json:"delta_digest"`
	Model    string    `json:"model_hash"`
	Seed     string    `json:"seed"`
	Accuracy *float64  `json:"accuracy"`
	Loss     *float64  `json:"loss"`
	Verdicts []Verdict `json:"verdicts"`
}

// story returns a closed round with its verdicts.
func (s *Server) story(ctx context.Context, at place) (*Story, error) {
	r, err := s.source.record(ctx, at)
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	before := map[uint32]int64{}
	if at.round > 0 {
		last, err := s.source.record(ctx, place{at.epoch, at.round - 1})
		if err != nil {
			return nil, err
		}
		for _, c := range last.Contributions {
			before[c.Participant] = c.Reputation
		}
	}
	out := &Story{
		Epoch: r.Epoch, Round: r.Round, Opened: r.Opened, Height: r.Height, Leader: r.Leader, View: r.View,
		Ranking: append([]uint32{}, r.Ranking...),
		Rule:    r.Rule, Margin: r.Margin, Delta: hex.EncodeToString(r.DeltaDigest), Model: hex.EncodeToString(r.ModelHash),
		Seed:     hex.EncodeToString(r.Seed),
		Verdicts: verdicts(r, people, before, nil),
	}
	if refused, err := s.source.refusals(ctx, at.String()); err == nil { // known to this node only
		blame(out.Verdicts, refused)
	}
	_, _, points, _ := s.tail.now()
	for i := range points {
		if points[i].Epoch == r.Epoch && points[i].Round == r.Round {
			out.Accuracy, out.Loss = points[i].Accuracy, points[i].Loss
		}
	}
	return out, nil
}

// verdicts returns the verdicts on the included participants and on the currently active ones that
// were not included. If only is not nil, it returns the verdict on that participant alone.
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
		v.Place = place[c.Participant]
		v.Why = why(v, r, worst)
		out = append(out, v)
	}
	for _, p := range people {
		if p.Active && !in[p.Index] {
			v := Verdict{Participant: p.Index, Moniker: p.Moniker, Fate: Absent, Passed: slices.Contains(passed, p.Index)}
			if r.Round < p.Joined {
				v.Fate = NotYet
			}
			v.Why = why(v, r, worst)
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Participant, b.Participant) })
	return out
}

// verdictOn returns the verdict that follows from a contribution alone. Before has the reputations
// before the round.
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
// returns none if the rule gives no scores.
func places(r *app.Record) map[uint32]int {
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

// costOf describes how many blocks a round took, if more than one.
func costOf(r *app.Record) string {
	if r.Height <= r.Opened {
		return ""
	}
	return fmt.Sprintf(": it was waited for, and the round took %d blocks instead of 1", r.Height-r.Opened+1)
}

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

// A Standing summarises a participant's last rounds.
type Standing struct {
	Participant uint32 `json:"participant"`
	Moniker     string `json:"moniker"`
	Active      bool   `json:"active"`
	Reputation  int64  `json:"reputation"` // parts per million
	Rounds      int    `json:"rounds"`     // number of rounds that the standing summarises
	Included    int    `json:"included"`
	LeftOut     int    `json:"left_out"`
	Opposed     int    `json:"opposed"`
	Refused     int    `json:"refused"` // rounds in which the node did not admit its gradient
	Passed      int    `json:"passed"`  // turns of these rounds in which it failed to lead
	// turns in which it failed to lead, over all rounds that the explorer has read
	PassedInAll int `json:"passed_in_all"`
	// the chain's count: turns in which it failed to lead, less the turns in which it led since
	PassedOver int      `json:"passed_over"`
	Offences   int      `json:"offences"`
	Alarm      string   `json:"alarm"`   // ok, watch or suspect
	Reasons    []string `json:"reasons"` // for the alarm
}

// The alarms are for people; they are no part of consensus.
const (
	OK      = "ok"
	Watch   = "watch"
	Suspect = "suspect"
)

// recent is the number of rounds in a standing.
const recent = 50

// standings returns the standing of every participant in the last rounds of the running epoch. A
// participant that was suspect in earlier rounds of the points stays on watch.
func standings(people []app.Participant, offences []app.Offence, points []Point, epoch uint64) []Standing {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Epoch != epoch })
	out := []Standing{}
	place := map[uint32]int{}
	for i, who := range people {
		place[who.Index] = i
		out = append(out, Standing{Participant: who.Index, Moniker: who.Moniker, Active: who.Active,
			Reputation: who.Reputation, PassedOver: int(who.PassedOver), Reasons: []string{}})
	}
	suspected := make([]*uint64, len(out)) // the last round in which the participant was suspect
	for t := range points {
		tallyInto(out, people, place, &points[t], 1)
		if t >= recent {
			tallyInto(out, people, place, &points[t-recent], -1)
		}
		for i := range out {
			if out[i].suspicious() {
				suspected[i] = &points[t].Round
			}
		}
	}
	for _, o := range offences {
		if i, ok := place[o.Participant]; ok {
			out[i].Offences++
		}
	}
	for i := range out {
		out[i].judge(suspected[i])
	}
	sayRefused(out, points)
	return out
}

// tallyInto adds a round to the standings, or removes it from them.
func tallyInto(out []Standing, people []app.Participant, place map[uint32]int, p *Point, sign int) {
	for i := range people {
		if p.Round >= people[i].Joined {
			out[i].Rounds += sign
		}
	}
	each := func(list []uint32, count func(*Standing) *int) {
		for _, index := range list {
			if i, ok := place[index]; ok && p.Round >= people[i].Joined {
				*count(&out[i]) += sign
			}
		}
	}
	each(p.included, func(s *Standing) *int { return &s.Included })
	each(p.LeftOut, func(s *Standing) *int { return &s.LeftOut })
	each(p.Opposed, func(s *Standing) *int { return &s.Opposed })
	each(p.Refused, func(s *Standing) *int { return &s.Refused })
	each(p.Passed, func(s *Standing) *int { return &s.Passed })
}

func has(list []uint32, x uint32) int {
	if slices.Contains(list, x) {
		return 1
	}
	return 0
}

// A measure is a share of a participant's rounds that raises an alarm. An honest gradient is mostly
// noise, so a few gradients that were left out mean nothing: only shares raise alarms.
type measure struct {
	what           string
	watch, suspect float64
	of             func(s *Standing) (count, rounds int)
}

var measures = []measure{
	{"opposed to Delta", 0.3, 0.6, func(s *Standing) (int, int) { return s.Opposed, s.Included }},
	{"left out", 0.5, 0.8, func(s *Standing) (int, int) { return s.LeftOut, s.Included }},
	{"rejected by this node", 0.1, 0.5, func(s *Standing) (int, int) { return s.Refused, s.Rounds }},
	{"absent", 0.25, 2, func(s *Standing) (int, int) {
		if !s.Active {
			return 0, 0
		}
		return s.Rounds - s.Included - s.Refused, s.Rounds
	}},
}

// The numbers of passed-over turns that raise an alarm. They are not shares of the last rounds,
// because the chain excludes a failed leader from elections, twice as long each time (rule O2).
const (
	watchPassed   = 2
	suspectPassed = 4
)

// fewest is the min number of rounds for a share to raise an alarm, remembered that for the alarm
// to be remembered.
const fewest, remembered = 4, 20

// suspicious reports whether a share makes the participant suspect, over enough rounds for that to
// be remembered.
func (s *Standing) suspicious() bool {
	return slices.ContainsFunc(measures, func(m measure) bool {
		count, rounds := m.of(s)
		return rounds >= remembered && float64(count) >= m.suspect*float64(rounds)
	})
}

// judge sets the alarm. Suspected is the last round in which the participant was suspect, nil for
// none.
func (s *Standing) judge(suspected *uint64) {
	s.Alarm = OK
	raise := func(alarm, format string, args ...any) {
		if alarm == Suspect || s.Alarm == OK {
			s.Alarm = alarm
		}
		s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
	}
	if s.Offences > 0 {
		raise(Suspect, "proven offences: %d", s.Offences)
	}
	if s.Active && s.Reputation <= 0 {
		raise(Suspect, "reputation 0")
	}
	if s.PassedOver >= watchPassed {
		alarm := Watch
		if s.PassedOver >= suspectPassed {
			alarm = Suspect
		}
		raise(alarm, "passed over as leader %d times more than it led since", s.PassedOver)
	}
	for _, m := range measures {
		switch count, rounds := m.of(s); {
		case rounds < fewest:
		case float64(count) >= m.suspect*float64(rounds):
			raise(Suspect, "%s in %d of %d", m.what, count, rounds)
		case float64(count) >= m.watch*float64(rounds):
			raise(Watch, "%s in %d of %d", m.what, count, rounds)
		}
	}
	if suspected != nil && s.Alarm != Suspect {
		raise(Watch, "suspect until round %d", *suspected)
	}
}
