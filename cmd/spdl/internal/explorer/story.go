package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
)

// What happened to a participant in a round.
const (
	Selected = "selected" // included, and in Delta
	LeftOut  = "left-out" // included, and not selected by the rule
	Absent   = "absent"   // not included
	Refused  = "refused"  // not included; the node did not admit a gradient that it signed
)

// A Verdict says what a round made of a participant, and why.
type Verdict struct {
	Participant uint32   `json:"participant"`
	Moniker     string   `json:"moniker"`
	Fate        string   `json:"fate"`
	Opposed     bool     `json:"opposed"` // angle to Delta above 90 degrees
	Leader      bool     `json:"leader"`  // closed the round
	Passed      bool     `json:"passed"`  // was to lead before, and did not
	Score       int64    `json:"score"`
	Place       int      `json:"place"` // by score, from 1; 0 without
	Neighbours  []uint32 `json:"neighbours"`
	Reputation  *int64   `json:"reputation"` // parts per million, after the round; null if absent
	Change      *int64   `json:"change"`     // by the round; null where the round before says nothing
	VRFOutput   string   `json:"vrf_output"`
	Hash        string   `json:"hash"` // of the gradient's header
	Why         string   `json:"why"`
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

// story returns the story of a round.
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
		Epoch: r.Epoch, Round: r.Round, Opened: r.Opened, Height: r.Height, Leader: r.Leader, View: r.View, Ranking: append([]uint32{}, r.Ranking...),
		Rule: r.Rule, Margin: r.Margin, Delta: hex.EncodeToString(r.DeltaDigest), Model: hex.EncodeToString(r.ModelHash), Seed: hex.EncodeToString(r.Seed),
		Verdicts: verdicts(r, people, before),
	}
	if refused, err := s.source.refusals(ctx, at.String()); err == nil { // it is no part of the chain
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

// verdicts returns the verdict on each included participant, and on each that is active now and was
// not included.
func verdicts(r *app.Record, people []app.Participant, before map[uint32]int64) []Verdict {
	passed := pointOf(r).Passed
	order := slices.Clone(r.Contributions)
	slices.SortStableFunc(order, func(a, b app.Contribution) int { return compare(a.Score, b.Score) })
	scored := len(order) > 0 && order[len(order)-1].Score != 0
	var worst int64 // of the selected
	for _, c := range order {
		if c.Selected {
			worst = max(worst, c.Score)
		}
	}
	names := map[uint32]string{}
	for _, p := range people {
		names[p.Index] = p.Moniker
	}
	out := []Verdict{}
	in := map[uint32]bool{}
	for _, c := range r.Contributions {
		in[c.Participant] = true
		reputation := c.Reputation
		v := Verdict{
			Participant: c.Participant, Moniker: names[c.Participant], Fate: Selected, Opposed: c.Opposed, Leader: c.Participant == r.Leader,
			Passed: slices.Contains(passed, c.Participant), Score: c.Score, Neighbours: append([]uint32{}, c.Neighbours...),
			Reputation: &reputation, VRFOutput: hex.EncodeToString(c.VrfOutput), Hash: hex.EncodeToString(c.Hash),
		}
		if was, ok := before[c.Participant]; ok {
			change := c.Reputation - was
			v.Change = &change
		}
		if !c.Selected {
			v.Fate = LeftOut
		}
		if scored {
			v.Place = 1 + slices.IndexFunc(order, func(o app.Contribution) bool { return o.Participant == c.Participant })
		}
		v.Why = why(v, r, worst, len(order))
		out = append(out, v)
	}
	for _, p := range people {
		if p.Active && !in[p.Index] {
			v := Verdict{Participant: p.Index, Moniker: p.Moniker, Fate: Absent, Neighbours: []uint32{}, Passed: slices.Contains(passed, p.Index)}
			v.Why = why(v, r, worst, len(order))
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return compare(a.Participant, b.Participant) })
	return out
}

// why puts the numbers of a verdict into words.
func why(v Verdict, r *app.Record, worst int64, n int) string {
	var text string
	switch {
	case v.Fate == Absent:
		text = fmt.Sprintf("No gradient of it is in block %d, which closed the round; or it joined later.", r.Height)
	case v.Place == 0:
		text = fmt.Sprintf("Included. The rule %s weighs coordinates, not whole gradients: there is no score.", r.Rule)
		if len(v.Neighbours) > 0 {
			text = fmt.Sprintf("Included. By the rule %s it counts as the mean of its nearest (%s); there is no score.", r.Rule, list(v.Neighbours))
		}
		if v.Fate == LeftOut {
			text = fmt.Sprintf("Left out of Delta by the rule %s.", r.Rule)
		}
	case v.Fate == LeftOut:
		text = fmt.Sprintf("Score %d is place %d of %d, the selection ends at %d: too far, by %d, from its nearest others (%s).",
			v.Score, v.Place, n, worst, v.Score-worst, list(v.Neighbours))
	default:
		text = fmt.Sprintf("Score %d is place %d of %d: close enough to its nearest others (%s).", v.Score, v.Place, n, list(v.Neighbours))
	}
	if v.Opposed {
		text += " It points away from Delta, by more than 90 degrees, and loses reputation"
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
	Participant uint32   `json:"participant"`
	Moniker     string   `json:"moniker"`
	Active      bool     `json:"active"`
	Reputation  int64    `json:"reputation"` // parts per million
	Rounds      int      `json:"rounds"`     // looked at
	Included    int      `json:"included"`
	LeftOut     int      `json:"left_out"`
	Opposed     int      `json:"opposed"`
	Refused     int      `json:"refused"` // rounds in which the node did not admit its gradient
	Passed      int      `json:"passed"`  // led nothing when it was to
	Offences    int      `json:"offences"`
	Alarm       string   `json:"alarm"`   // ok, watch or suspect
	Reasons     []string `json:"reasons"` // for the alarm
}

// The alarms are for people; they are no part of consensus.
const (
	OK      = "ok"
	Watch   = "watch"
	Suspect = "suspect"
)

// recent is the number of rounds in a standing.
const recent = 50

// standings returns the standing of every participant in the last rounds of the running epoch.
func standings(people []app.Participant, offences []app.Offence, points []Point, epoch uint64) []Standing {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Epoch != epoch })
	points = points[max(0, len(points)-recent):]
	out := []Standing{}
	for _, who := range people {
		st := Standing{Participant: who.Index, Moniker: who.Moniker, Active: who.Active, Reputation: who.Reputation, Reasons: []string{}}
		for _, p := range points {
			if p.Round < who.Joined {
				continue
			}
			st.Rounds++
			st.Included += has(p.included, who.Index)
			st.LeftOut += has(p.LeftOut, who.Index)
			st.Opposed += has(p.Opposed, who.Index)
			st.Refused += has(p.Refused, who.Index)
			st.Passed += has(p.Passed, who.Index)
		}
		for _, o := range offences {
			if o.Participant == who.Index {
				st.Offences++
			}
		}
		st.judge()
		out = append(out, st)
	}
	return out
}

func has(list []uint32, x uint32) int {
	if slices.Contains(list, x) {
		return 1
	}
	return 0
}

// judge sets the alarm. An honest gradient is noise for the larger part, so a
// few rejections mean nothing: the shares are what counts.
func (s *Standing) judge() {
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
	grade := func(count, of int, watch, suspect float64, what string) {
		switch share := float64(count) / float64(max(1, of)); {
		case of < 4:
		case share >= suspect:
			raise(Suspect, "%s in %d of %d", what, count, of)
		case share >= watch:
			raise(Watch, "%s in %d of %d", what, count, of)
		}
	}
	grade(s.Opposed, s.Included, 0.3, 0.6, "opposed to Delta")
	grade(s.LeftOut, s.Included, 0.5, 0.8, "left out")
	grade(s.Passed, s.Rounds, 0.1, 0.2, "failed to lead")
	grade(s.Refused, s.Rounds, 0.1, 0.5, "refused by this node")
	if s.Active {
		grade(s.Rounds-s.Included-s.Refused, s.Rounds, 0.25, 2, "absent")
	}
}
