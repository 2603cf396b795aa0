package explorer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// A Standing summarises a participant's last rounds.
type Standing struct {
	Participant uint32 `json:"participant"`
	Moniker     string `json:"moniker"`
	Active      bool   `json:"active"`
	Reputation  int64  `json:"reputation"` // parts per million
	Rounds      int    `json:"rounds"`     // number of rounds that the standing summarises
	// the mean weight of its included gradients; null if the rule gives none
	Weight   *float64 `json:"weight"`
	Included int      `json:"included"`
	LeftOut  int      `json:"left_out"`
	Opposed  int      `json:"opposed"`
	Refused  int      `json:"refused"` // rounds in which the node did not admit its gradient
	Led      int      `json:"led"`     // rounds that it closed
	Passed   int      `json:"passed"`  // turns of these rounds in which it failed to lead
	// turns in which it failed to lead, over all rounds that the explorer has read
	PassedInAll int `json:"passed_in_all"`
	// the chain's count: turns in which it failed to lead, less the turns in which it led since
	PassedOver int      `json:"passed_over"`
	Offences   int      `json:"offences"`
	Alarm      string   `json:"alarm"`   // ok, watch or suspect
	Reasons    []string `json:"reasons"` // for the alarm
}

// AlarmText returns the alarm as pages show it. Without an alarm it is "none", or "too early" after too few rounds.
func (s Standing) AlarmText() string {
	switch {
	case s.Alarm != OK:
		return s.Alarm
	case s.Rounds < fewest:
		return "too early"
	}
	return "none"
}

// The alarms. They are for people, and consensus does not use them.
const (
	OK      = "ok"
	Watch   = "watch"
	Suspect = "suspect"
)

// recent is the number of rounds in a standing.
const recent = 50

// standings returns the standings of all participants, by number, cached since the last look at the
// chain. Callers must not change them.
func (s *Server) standings(ctx context.Context) ([]Standing, error) {
	all, err := s.source.answers.get(ctx, s.source.looks.Load(), "standings", func() (any, error) { return s.judged(ctx) })
	out, _ := all.([]Standing)
	return out, err
}

// judged computes the standings.
func (s *Server) judged(ctx context.Context) ([]Standing, error) {
	status, _, points, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return nil, err
	}
	out := standings(people, offences, points, status.Epoch)
	passed := s.tail.passed.totals()
	for i := range out {
		out[i].PassedInAll = passed[out[i].Participant]
	}
	return out, nil
}

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
	setWeights(out, place, points[max(0, len(points)-recent):])
	for i := range out {
		out[i].judge(suspected[i])
	}
	sayRefused(out, points)
	return out
}

// setWeights sets the mean weights of the participants' gradients in rounds whose rule gives weights.
func setWeights(out []Standing, place map[uint32]int, points []Point) {
	sums, rounds := make([]float64, len(out)), make([]int, len(out))
	for _, p := range points {
		for k, weight := range p.weights {
			if i, ok := place[p.included[k]]; ok {
				sums[i], rounds[i] = sums[i]+weight, rounds[i]+1
			}
		}
	}
	for i := range out {
		if rounds[i] > 0 {
			mean := sums[i] / float64(rounds[i])
			out[i].Weight = &mean
		}
	}
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
	each([]uint32{p.Leader}, func(s *Standing) *int { return &s.Led })
}

// A measure is a share of a participant's rounds that raises an alarm. It is a share because an
// honest gradient is mostly noise, so a few gradients that the rule left out mean nothing.
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

// fewest is the min number of rounds for a share to raise an alarm, and remembered is the min
// number for the explorer to remember the alarm.
const fewest, remembered = 4, 20

// suspicious reports whether a share makes the participant suspect, over enough rounds for the
// explorer to remember it.
func (s *Standing) suspicious() bool {
	return slices.ContainsFunc(measures, func(m measure) bool {
		count, rounds := m.of(s)
		return rounds >= remembered && float64(count) >= m.suspect*float64(rounds)
	})
}

// raise sets the alarm, unless a higher one is set, and adds the reason.
func (s *Standing) raise(alarm, format string, args ...any) {
	if alarm == Suspect || s.Alarm == OK {
		s.Alarm = alarm
	}
	s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
}

// judgeLeads raises the alarm of a participant that fails to lead.
func (s *Standing) judgeLeads() {
	switch alarm, reason := Leads(s.PassedOver); {
	case alarm != OK:
		s.raise(alarm, "%s", reason)
	case s.Passed >= watchPassed && s.Passed > s.Led:
		s.raise(Watch, "failed to lead in %d of its %d turns", s.Passed, s.Passed+s.Led)
	}
}

// Leads returns the alarm of a participant by the chain's count of its missed turns as leader, less
// those in which it led since, and the reason, "" without an alarm.
func Leads(passedOver int) (alarm, reason string) {
	if passedOver < watchPassed {
		return OK, ""
	}
	alarm = Watch
	if passedOver >= suspectPassed {
		alarm = Suspect
	}
	return alarm, fmt.Sprintf("passed over as leader %d times more than it led since", passedOver)
}

// judge sets the alarm. The parameter suspected is the last round in which the participant was
// suspect, or nil.
func (s *Standing) judge(suspected *uint64) {
	s.Alarm = OK
	if s.Offences > 0 {
		s.raise(Suspect, "proven offences: %d", s.Offences)
	}
	if s.Active && s.Reputation <= 0 {
		s.raise(Suspect, "reputation 0")
	}
	s.judgeLeads()
	for _, m := range measures {
		switch count, rounds := m.of(s); {
		case rounds < fewest:
		case float64(count) >= m.suspect*float64(rounds):
			s.raise(Suspect, "%s in %d of %d", m.what, count, rounds)
		case float64(count) >= m.watch*float64(rounds):
			s.raise(Watch, "%s in %d of %d", m.what, count, rounds)
		}
	}
	if said := strings.Join(s.Reasons, ""); s.Alarm == Suspect && s.Opposed > 0 && !strings.Contains(said, "opposed") {
		s.raise(Suspect, "opposed to Delta in %d of %d", s.Opposed, s.Included)
	}
	if s.Alarm == Suspect && s.Weight != nil {
		s.raise(Suspect, "weight %s on average", query.WeightText(s.Weight))
	}
	if suspected != nil && s.Alarm != Suspect {
		s.raise(Watch, "suspect until round %d", *suspected)
	}
}

// Against returns the reasons of the participant's alarm or, if it has none, all counts that are
// not 0.
func (s Standing) Against() string {
	if len(s.Reasons) > 0 {
		return strings.Join(s.Reasons, "; ")
	}
	var all []string
	absent := s.Rounds - s.Included - s.Refused
	if !s.Active {
		absent = 0
	}
	for _, x := range []struct {
		count      int
		once, many string
	}{
		{s.Opposed, "opposed once", "opposed %d times"}, {s.Refused, "rejected once", "rejected %d times"},
		{max(s.Passed, s.PassedInAll), "failed to lead once", "failed to lead %d times"},
		{absent, "absent once", "absent %d times"},
		{s.LeftOut, "left out once", "left out %d times"},
	} {
		switch {
		case x.count == 1:
			all = append(all, x.once)
		case x.count > 1:
			all = append(all, fmt.Sprintf(x.many, x.count))
		}
	}
	if len(all) == 0 {
		return "nothing against it"
	}
	return strings.Join(all, "; ")
}
