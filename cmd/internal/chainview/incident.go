package chainview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// A Result is the outcome of one round for one participant.
type Result struct {
	Point
	Verdict Verdict
	Epsilon *float64
	Turn    string // the reason why its turn to lead failed, if it failed
}

// An Incident is one kind of trouble with a participant in some rounds, reported once.
type Incident struct {
	Class         string // of the tag
	Tag           string
	First, Last   uint64 // rounds
	Epoch         uint64
	Count         int // the number of rounds with the trouble
	What          string
	offence       *app.Offence // the proven offence; nil if only the rounds show the trouble
	rounds        []uint64
	reputation    []int64 // after each of the rounds, where it is known
	loss, reasons []string
}

// Rounds names the rounds of the incident.
func (i Incident) Rounds() string {
	if o := i.offence; o != nil && o.Misbehavior != 0 {
		return fmt.Sprintf("height %d", o.Voted)
	}
	return RoundsText(i.rounds)
}

// Address is the explorer's address of the first of the rounds, or of the block of a validator's offence.
func (i Incident) Address() string {
	if o := i.offence; o != nil && o.Misbehavior != 0 {
		return fmt.Sprintf("/block/%d", o.Voted)
	}
	return fmt.Sprintf("/round/%d/%d", i.Epoch, i.First)
}

// Proven is the height of the block that proved the offence, or 0 if only the rounds show the
// trouble.
func (i Incident) Proven() uint64 {
	if i.offence == nil {
		return 0
	}
	return i.offence.Height
}

// Incidents returns the incidents of one participant, newest first: its proven offences, and the trouble in its
// results, which are given oldest first.
func Incidents(offences []app.Offence, results []Result) (all []Incident) {
	for _, o := range slices.Backward(offences) {
		all = append(all, Incident{Class: "opposed", Tag: "✕ proven offence", First: o.Round, Last: o.Round,
			Epoch: o.Epoch, Count: 1, rounds: []uint64{o.Round}, offence: &o, What: "two different statements (" +
				o.Cause() + "); it cost the whole reputation"})
	}
	x := incidents{last: map[string]int{}}
	for _, r := range results {
		switch v := r.Verdict; {
		case v.Opposed:
			x.add(r, "opposed", "✕ opposed", "")
		case v.Fate == Refused:
			x.add(r, Refused, "! rejected", r.rejection())
		case v.Fate == Absent:
			x.add(r, Absent, "· absent", "")
		case v.Fate == LeftOut:
			x.add(r, LeftOut, "– left out", "")
		}
		if r.Verdict.Passed {
			x.add(r, Watch, "↷ failed to lead", r.Turn)
		}
	}
	for i := range x.all {
		x.all[i].tell(results)
	}
	slices.Reverse(x.all)
	return append(all, x.all...)
}

// incidents collects the incidents of one participant, oldest first.
type incidents struct {
	all  []Incident
	last map[string]int // by class, the index in all of the last incident
}

// add adds a round with trouble of a class: to the last incident of the class, or as a new incident.
func (x *incidents) add(r Result, class, tag, reason string) {
	at, ok := x.last[class]
	if !ok || r.Round-x.all[at].Last > Apart && class != LeftOut {
		at = len(x.all)
		x.last[class] = at
		x.all = append(x.all, Incident{Class: class, Tag: tag, First: r.Round, Epoch: r.Epoch})
	}
	i := &x.all[at]
	i.Last, i.Count, i.rounds = r.Round, i.Count+1, append(i.rounds, r.Round)
	if r.Verdict.Reputation != nil {
		i.reputation = append(i.reputation, *r.Verdict.Reputation)
	}
	if c := r.Verdict.Change; c != nil && *c < 0 {
		i.loss = append(i.loss, fmt.Sprintf("%.4g", float64(*c)/params.One))
	}
	if reason != "" && !slices.Contains(i.reasons, reason) {
		i.reasons = append(i.reasons, reason)
	}
}

// rejection returns the reason for which the node rejected the participant's gradient.
func (r *Result) rejection() string {
	for _, x := range r.Rejections {
		if x.Signed && x.Participant == r.Verdict.Participant {
			return "this node rejected its gradient (" + x.Reason + "): " + RejectionText(x)
		}
	}
	return ""
}

// tell sets the text of an incident.
func (i *Incident) tell(results []Result) {
	among := 0
	for _, r := range results {
		if r.Round >= i.First && r.Round <= i.Last {
			among++
		}
	}
	share := fmt.Sprintf("%d of %d rounds", i.Count, among)
	if among == 1 {
		share = "this round"
	}
	var parts []string
	switch i.Class {
	case "opposed":
		parts = append(parts, "points away from Delta in "+share, i.cost())
	case LeftOut:
		parts = append(parts, "the rule did not use its gradient in "+share+"; that costs no reputation")
	case Absent:
		parts = append(parts, "no gradient of it in "+share)
	}
	for _, reason := range i.reasons[:min(2, len(i.reasons))] {
		parts = append(parts, strings.TrimSuffix(strings.TrimSpace(reason), "."))
	}
	i.What = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// cost says how the incident changed the reputation.
func (i *Incident) cost() string {
	if len(i.reputation) == 0 {
		return ""
	}
	last := i.reputation[len(i.reputation)-1]
	text := fmt.Sprintf("reputation %.4g", float64(last)/params.One)
	if zero := slices.Index(i.reputation, 0); zero >= 0 && last == 0 {
		text = fmt.Sprintf("reputation 0 since round %d", i.rounds[min(zero, len(i.rounds)-1)])
	}
	if len(i.loss) > 0 && !slices.ContainsFunc(i.loss, func(x string) bool { return x != i.loss[0] }) {
		text = i.loss[0] + " each, " + text
	}
	return text
}

// A Span is a table row for consecutive rounds with the same result.
type Span struct {
	Newest, Oldest Result
	Count, Led     int
	Lost           int64    // change of the reputation, parts per million
	Known          bool     // the change is known
	Weight         *float64 // mean of the weights; nil if they are unknown
	weights        Tally
}

// Spans returns the rows for results, newest first. Consecutive results that differ only in the
// round share a row.
func Spans(results []Result) (out []Span) {
	for _, r := range results {
		n, v := len(out), r.Verdict
		if n == 0 || !alike(out[n-1].Oldest.Verdict, v) {
			out, n = append(out, Span{Newest: r}), n+1
		}
		s := &out[n-1]
		if s.Oldest, s.Count = r, s.Count+1; r.Leader == v.Participant {
			s.Led++
		}
		if v.Change != nil {
			s.Lost, s.Known = s.Lost+*v.Change, true
		}
		if v.Weight != nil {
			s.weights.weigh(*v.Weight)
			s.Weight = s.weights.MeanWeight()
		}
	}
	return out
}

func alike(a, b Verdict) bool {
	return a.Fate == b.Fate && a.Opposed == b.Opposed && a.Passed == b.Passed && a.Offence == b.Offence &&
		a.Convicted == b.Convicted
}
