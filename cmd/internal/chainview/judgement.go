// Package chainview judges participants by what a chain's records say of them. The explorer, the report of a
// training, query status and the dossier read their judgements here, so that they agree.
package chainview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// The alarms. They are for people, and consensus does not use them.
const (
	OK      = "ok"
	Watch   = "watch"
	Suspect = "suspect"
)

// The thresholds beside the measures.
const (
	// The numbers of passed-over turns that raise an alarm. They are not shares of the last rounds,
	// because the chain excludes a failed leader from elections, twice as long each time (rule O2).
	watchPassed, suspectPassed = 2, 4
	// fewest is the min number of rounds for a share to raise an alarm, and remembered is the min
	// number for Suspicious.
	fewest, remembered = 4, 20
	// Low is the reputation, in parts per million, below which a participant is in trouble.
	Low = params.One / 2
	// Apart is the number of rounds without the same trouble after which it counts as a new incident.
	Apart = 5
)

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
	{"absent", 0.25, 2, func(s *Standing) (int, int) { return s.absent(), s.Rounds }},
}

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
	// the chain's count: turns in which it failed to lead, less the turns in which it led since
	PassedOver int      `json:"passed_over"`
	Offences   int      `json:"offences"`
	Alarm      string   `json:"alarm"`   // ok, watch or suspect
	Reasons    []string `json:"reasons"` // for the alarm
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

// Suspicious reports whether a share makes the participant suspect, over enough rounds to be
// remembered.
func (s *Standing) Suspicious() bool {
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

// Judge sets the alarm. The parameter suspected is the last round in which the participant was
// suspect, or nil.
func (s *Standing) Judge(suspected *uint64) {
	s.Alarm = OK
	if s.Offences > 0 {
		s.raise(Suspect, "proven offences: %d", s.Offences)
	}
	if s.Active && s.Reputation <= 0 {
		s.raise(Suspect, "reputation 0")
	}
	switch alarm, reason := Leads(s.PassedOver); {
	case alarm != OK:
		s.raise(alarm, "%s", reason)
	case s.Passed >= watchPassed && s.Passed > s.Led:
		s.raise(Watch, "failed to lead in %d of its %d turns", s.Passed, s.Passed+s.Led)
	}
	for _, m := range measures {
		switch count, rounds := m.of(s); {
		case rounds < fewest:
		case float64(count) >= m.suspect*float64(rounds):
			s.raise(Suspect, "%s in %d of %d", m.what, count, rounds)
		case float64(count) >= m.watch*float64(rounds):
			s.raise(Watch, "%s in %d of %d", m.what, count, rounds)
		}
	}
	s.explain()
	if suspected != nil && s.Alarm != Suspect {
		s.raise(Watch, "suspect until round %d", *suspected)
	}
}

// explain adds to the reasons against a suspect what else the rounds say of its gradients.
func (s *Standing) explain() {
	if s.Alarm != Suspect {
		return
	}
	if said := strings.Join(s.Reasons, ""); s.Opposed > 0 && !strings.Contains(said, "opposed") {
		s.raise(Suspect, "opposed to Delta in %d of %d", s.Opposed, s.Included)
	}
	if s.Weight != nil {
		s.raise(Suspect, "weight %s on average", WeightText(s.Weight))
	}
}

// Against returns the reasons of the participant's alarm or, if it has none, all counts that are
// not 0.
func (s Standing) Against() string {
	if len(s.Reasons) > 0 {
		return strings.Join(s.Reasons, "; ")
	}
	var all []string
	for _, x := range []struct {
		count      int
		once, many string
	}{
		{s.Opposed, "opposed once", "opposed %d times"}, {s.Refused, "rejected once", "rejected %d times"},
		{s.Passed, "failed to lead once", "failed to lead %d times"},
		{s.absent(), "absent once", "absent %d times"},
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
