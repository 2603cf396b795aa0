package chainview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// The alarms. They are for people, and consensus does not use them. Only a proven offence makes a
// participant suspect: what else stands out may be an attacker's doing, or that of patients unlike the others'.
const (
	OK      = "ok"
	Watch   = "watch"
	Differs = "differs"
	Suspect = "suspect"
)

// Doubt says what the alarm Differs means.
const Doubt = "attacker or different patients: compare case mix"

// The thresholds beside the measures.
const (
	// watchPassed is the number of passed-over turns that raises an alarm. It is no share of the last rounds,
	// because the chain excludes a failed leader from elections, twice as long each time (rule O2).
	watchPassed = 2
	// leastWeight is the mean weight below which a participant's gradients differ.
	leastWeight = 0.5
	// fewest is the min number of rounds for a share to raise an alarm, and remembered is the min number for Differed.
	fewest, remembered = 4, 20
)

// A measure is a share of a participant's rounds that raises an alarm, over at least that many rounds. It is a share
// because an honest gradient is mostly noise. To be left out of few that are selected is no measure: Krum selects one,
// on unlike data the same one. A rule that selects most, as Multi-Krum, hardly ever leaves out the same one among
// participants that are alike, in 16 rounds of chance at most 1 of 2^16 times.
type measure struct {
	what           string
	watch, differs float64
	fewest         int
	of             func(s *Standing) (count, rounds int)
}

var measures = []measure{
	{"opposed to Delta", 0.3, 0.6, fewest, func(s *Standing) (int, int) { return s.Opposed, s.Included }},
	{"rejected by this node", 0.1, 0.5, fewest, func(s *Standing) (int, int) { return s.Refused, s.Rounds }},
	{"absent", 0.25, 2, fewest, func(s *Standing) (int, int) { return s.absent(), s.Rounds }},
	{"left out (most are selected)", 2, 0.95, 16, func(s *Standing) (int, int) { return s.Apart, s.Included }},
}

// raised returns the alarm of a standing by the measure, with the counts.
func (m measure) raised(s *Standing) (alarm string, count, rounds int) {
	alarm = OK
	switch count, rounds = m.of(s); {
	case rounds < m.fewest:
	case float64(count) >= m.differs*float64(rounds):
		alarm = Differs
	case float64(count) >= m.watch*float64(rounds):
		alarm = Watch
	}
	return alarm, count, rounds
}

// A Standing summarises a participant's last rounds.
type Standing struct {
	Participant uint32   `json:"participant"`
	Moniker     string   `json:"moniker"`
	Active      bool     `json:"active"`
	Reputation  int64    `json:"reputation"` // parts per million
	Rounds      int      `json:"rounds"`     // number of rounds that the standing summarises
	Weight      *float64 `json:"weight"`     // mean of its included gradients; null if the rule gives none
	Included    int      `json:"included"`
	LeftOut     int      `json:"left_out"`
	Apart       int      `json:"-"` // left out of rounds in which the rule selected most
	Opposed     int      `json:"opposed"`
	Refused     int      `json:"refused"`     // rounds in which the node did not admit its gradient
	Led         int      `json:"led"`         // rounds that it closed
	Passed      int      `json:"passed"`      // turns of these rounds in which it failed to lead
	PassedOver  int      `json:"passed_over"` // the chain's count: failed turns, less those in which it led since
	Offences    int      `json:"offences"`    // proven, and settled by no restore
	Alarm       string   `json:"alarm"`       // ok, watch, differs or suspect
	Reasons     []string `json:"reasons"`     // for the alarm
}

// absent returns the number of rounds without a gradient, 0 for a participant that has left.
func (s *Standing) absent() int {
	if !s.Active {
		return 0
	}
	return s.Rounds - s.Included - s.Refused
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

// Differed reports whether a share raises the alarm Differs, over enough rounds to be remembered.
func (s *Standing) Differed() bool {
	return slices.ContainsFunc(measures, func(m measure) bool {
		alarm, _, rounds := m.raised(s)
		return rounds >= remembered && alarm == Differs
	})
}

// raise sets the alarm, unless a higher one is set, and adds the reason.
func (s *Standing) raise(alarm, format string, args ...any) {
	if Rank(alarm) > Rank(s.Alarm) {
		s.Alarm = alarm
	}
	s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
}

// Light reports whether the mean weight of that many gradients, nil if the rule gives none, is low.
func Light(weight *float64, rounds int) bool {
	return weight != nil && *weight < leastWeight && rounds >= fewest
}

// Rank returns the place of an alarm among all, the gravest last.
func Rank(alarm string) int { return slices.Index([]string{OK, Watch, Differs, Suspect}, alarm) }

// Leads returns the alarm of a participant by the chain's count of its missed turns as leader, less
// those in which it led since, and the reason, "" without an alarm.
func Leads(passedOver int) (alarm, reason string) {
	if passedOver < watchPassed {
		return OK, ""
	}
	return Watch, fmt.Sprintf("passed over as leader %d times more than it led since", passedOver)
}

// Judge sets the alarm. The parameter differed is the last round in which the participant differed, or nil.
func (s *Standing) Judge(differed *uint64) {
	s.Alarm = OK
	if s.Offences > 0 {
		s.raise(Suspect, "proven offences: %d", s.Offences)
	}
	if s.Active && s.Reputation <= 0 {
		s.raise(Differs, "reputation 0")
	}
	switch alarm, reason := Leads(s.PassedOver); {
	case alarm != OK:
		s.raise(alarm, "%s", reason)
	case s.Passed >= watchPassed && s.Passed > s.Led:
		s.raise(Watch, "failed to lead in %d of its %d turns", s.Passed, s.Passed+s.Led)
	}
	for _, m := range measures {
		if alarm, count, rounds := m.raised(s); alarm != OK {
			s.raise(alarm, "%s in %d of %d", m.what, count, rounds)
		}
	}
	if Light(s.Weight, s.Included) {
		s.raise(Differs, "weight %s on average", WeightText(s.Weight))
	}
	s.explain()
	if differed != nil && Rank(s.Alarm) < Rank(Differs) {
		s.raise(Watch, "differed until round %d", *differed)
	}
}

// explain adds to the reasons of a grave alarm what else the rounds say of the gradients, and what the alarm means.
func (s *Standing) explain() {
	if Rank(s.Alarm) < Rank(Differs) {
		return
	}
	said := strings.Join(s.Reasons, "")
	if s.Opposed > 0 && !strings.Contains(said, "opposed") {
		s.raise(Differs, "opposed to Delta in %d of %d", s.Opposed, s.Included)
	}
	if s.Weight != nil && !strings.Contains(said, "weight") {
		s.raise(Differs, "weight %s on average", WeightText(s.Weight))
	}
	if s.Alarm == Differs {
		s.raise(Differs, "%s", Doubt)
	}
}

// Against returns the reasons of the participant's alarm or, if it has none, all counts that are not 0.
func (s Standing) Against() string {
	if len(s.Reasons) > 0 {
		return strings.Join(s.Reasons, "; ")
	}
	var all []string
	usual := map[bool]string{true: ", as the rule does with some in every round"}[s.Weight == nil] // not if it weighs
	for _, x := range []struct {
		count      int
		once, many string
	}{
		{s.Opposed, "opposed once", "opposed %d times"}, {s.Refused, "rejected once", "rejected %d times"},
		{s.Passed, "failed to lead once", "failed to lead %d times"},
		{s.absent(), "absent once", "absent %d times"},
		{s.LeftOut, "left out once" + usual, "left out %d times" + usual},
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

// Recent is the number of rounds in a standing.
const Recent = 50

// Standings returns the standing of every participant in the last rounds of an epoch, by number. A participant that
// differed in earlier rounds of the points stays on watch. A restore settles the offences before it.
func Standings(people []app.Participant, offences []app.Offence, points []Point, epoch uint64) []Standing {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Epoch != epoch })
	out, place := []Standing{}, map[uint32]int{}
	for i, who := range people {
		place[who.Index] = i
		out = append(out, Standing{Participant: who.Index, Moniker: who.Moniker, Active: who.Active,
			Reputation: who.Reputation, PassedOver: int(who.PassedOver), Reasons: []string{}})
	}
	differed := make([]*uint64, len(out)) // the last round in which the participant differed
	for t := range points {
		count(out, people, place, &points[t], 1)
		if t >= Recent {
			count(out, people, place, &points[t-Recent], -1)
		}
		for i := range out {
			if out[i].Differed() {
				differed[i] = &points[t].Round
			}
		}
	}
	for _, o := range offences {
		if i, ok := place[o.Participant]; ok && o.WeighsOn(&people[i]) {
			out[i].Offences++
		}
	}
	points = points[max(0, len(points)-Recent):]
	weigh(out, place, points)
	for i := range out {
		out[i].Judge(differed[i])
	}
	sayRejected(out, points)
	return out
}

// count adds a round to the standings, or removes it from them.
func count(out []Standing, people []app.Participant, place map[uint32]int, p *Point, sign int) {
	for i := range people {
		if p.Round >= people[i].Joined {
			out[i].Rounds += sign
		}
	}
	each := func(list []uint32, field func(*Standing) *int) {
		for _, index := range list {
			if i, ok := place[index]; ok && p.Round >= people[i].Joined {
				*field(&out[i]) += sign
			}
		}
	}
	each(p.Members, func(s *Standing) *int { return &s.Included })
	each(p.LeftOut, func(s *Standing) *int { return &s.LeftOut })
	each(p.apart(), func(s *Standing) *int { return &s.Apart })
	each(p.Opposed, func(s *Standing) *int { return &s.Opposed })
	each(p.Refused, func(s *Standing) *int { return &s.Refused })
	each(p.Passed, func(s *Standing) *int { return &s.Passed })
	each([]uint32{p.Leader}, func(s *Standing) *int { return &s.Led })
}

// weigh sets the mean weights of the participants' gradients in rounds whose rule gives weights.
func weigh(out []Standing, place map[uint32]int, points []Point) {
	sums := make([]Tally, len(out))
	for _, p := range points {
		for k, weight := range p.Weights {
			if i, ok := place[p.Members[k]]; ok {
				sums[i].weigh(weight)
			}
		}
	}
	for i := range out {
		out[i].Weight = sums[i].MeanWeight()
	}
}

// sayRejected adds to the reasons of participants with an alarm that this node rejected gradients in their names. It
// raises no alarm of its own, because the round already counts as an absence.
func sayRejected(out []Standing, points []Point) {
	type kind struct {
		participant uint32
		signed      bool
	}
	counts := map[kind]map[string]uint64{} // by reason
	for _, p := range points {
		for _, x := range p.Rejections {
			k := kind{x.Participant, x.Signed}
			if counts[k] == nil {
				counts[k] = map[string]uint64{}
			}
			counts[k][x.Reason] += x.Count
		}
	}
	for i := range out {
		s := &out[i]
		for k, format := range []string{"this node rejected %d of its gradients (%s)",
			"this node rejected %d gradients in its name, which anybody may have sent (%s)"} {
			by := counts[kind{s.Participant, k == 0}]
			for _, reason := range slices.Sorted(maps.Keys(by)) {
				if s.Alarm != OK {
					s.Reasons = append(s.Reasons, fmt.Sprintf(format, by[reason], reason))
				}
			}
		}
	}
}

// Tally counts what a participant did in all rounds.
type Tally struct {
	Included, Selected, Opposed, Absent, Led int

	Withheld int // commitments without the gradient
	Missed   int // turns as leader
	Apart    int // rounds in which the rule selected most, and left it out

	Weight  float64 // the sum of its gradients' weights in rounds whose rule gives weights
	Weighed int     // the number of these rounds that include it
}

// Weigh adds the weight of a gradient of a round, if the rule gives weights.
func (t *Tally) Weigh(r *app.Record, c app.Contribution) {
	if query.Weighs(r.Rule) {
		t.weigh(*query.WeightOf(r, c))
	}
}

func (t *Tally) weigh(weight float64) { t.Weight, t.Weighed = t.Weight+weight, t.Weighed+1 }

// MeanWeight returns the mean weight of the participant's gradients, or nil if no rule gave weights.
func (t Tally) MeanWeight() *float64 {
	if t.Weighed == 0 {
		return nil
	}
	mean := t.Weight / float64(t.Weighed)
	return &mean
}

// Add adds a round to the tallies of the participants, by index.
func Add(all []Tally, r *app.Record, people []app.Participant) {
	p := PointOf(r)
	all[r.Leader].Led++
	for _, c := range r.Contributions {
		t := &all[c.Participant]
		if t.Included++; c.Selected {
			t.Selected++
		}
		if c.Opposed {
			t.Opposed++
		}
		t.Weigh(r, c)
	}
	for _, index := range p.apart() {
		all[index].Apart++
	}
	for _, index := range r.Withheld {
		all[index].Withheld++
	}
	for _, index := range p.Passed {
		all[index].Missed++
	}
	for _, who := range people {
		if who.Active && who.Joined <= r.Round && !p.Has(who.Index) {
			all[who.Index].Absent++
		}
	}
}
