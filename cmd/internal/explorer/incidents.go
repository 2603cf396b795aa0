package explorer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// An incident is one kind of trouble with a participant in some rounds, reported once.
type incident struct {
	Class         string // of the tag
	Tag           string
	First, Last   uint64 // rounds
	Epoch         uint64
	offence       *app.Offence // the proven offence; nil if only the rounds show the trouble
	Count         int          // the number of rounds with the trouble
	What          string
	rounds        []uint64
	reputation    []int64 // after each of the rounds, where it is known
	loss, reasons []string
}

// Rounds names the rounds of the incident.
func (i incident) Rounds() string {
	if o := i.offence; o != nil && o.Misbehavior != 0 {
		return fmt.Sprintf("height %d", o.Voted)
	}
	return roundsText(i.rounds)
}

// Address is the address of the first of the rounds, or of the block of a validator's offence.
func (i incident) Address() string {
	if o := i.offence; o != nil && o.Misbehavior != 0 {
		return fmt.Sprintf("/block/%d", o.Voted)
	}
	return fmt.Sprintf("/round/%d/%d", i.Epoch, i.First)
}

// Proven is the height of the block that proved the offence, or 0 if only the rounds show the
// trouble.
func (i incident) Proven() uint64 {
	if i.offence == nil {
		return 0
	}
	return i.offence.Height
}

// proven returns an incident for each proven offence of a participant, newest first.
func proven(offences []app.Offence) (out []incident) {
	for _, o := range slices.Backward(offences) {
		out = append(out, incident{Class: "opposed", Tag: "✕ proven offence", First: o.Round, Last: o.Round,
			Epoch: o.Epoch, Count: 1, rounds: []uint64{o.Round}, offence: &o, What: "two different statements (" +
				o.Cause() + "); it cost the whole reputation"})
	}
	return out
}

// incidents collects the incidents of one participant, oldest first.
type incidents struct {
	all  []incident
	last map[string]int // by class, the index in all of the last incident
}

// add adds a round with trouble of a class: to the last incident of the class, or as a new incident.
func (x *incidents) add(r result, class, tag, reason string) {
	at, ok := x.last[class]
	if !ok || r.Round-x.all[at].Last > chainview.Apart && class != LeftOut {
		at = len(x.all)
		x.last[class] = at
		x.all = append(x.all, incident{Class: class, Tag: tag, First: r.Round, Epoch: r.Epoch})
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

// incidentsOf returns the incidents in a participant's results. The results are given oldest first,
// and the newest incident comes first.
func incidentsOf(results []result) []incident {
	x := incidents{last: map[string]int{}}
	for _, r := range results {
		v := r.Verdict
		switch {
		case v.Opposed:
			x.add(r, "opposed", "✕ opposed", "")
		case v.Fate == Refused:
			x.add(r, Refused, "! rejected", rejectedAs(r))
		case v.Fate == Absent:
			x.add(r, Absent, "· absent", "")
		case v.Fate == LeftOut:
			x.add(r, LeftOut, "– left out", "")
		}
		if v.Passed {
			x.add(r, chainview.Watch, "↷ failed to lead", r.Turn)
		}
	}
	for i := range x.all {
		x.all[i].tell(results)
	}
	slices.Reverse(x.all)
	return x.all
}

// rejectedAs returns the reason for which the node rejected the participant's gradient of a round.
func rejectedAs(r result) string {
	for _, x := range r.refusals {
		if x.Signed && x.Participant == r.Verdict.Participant {
			return "this node rejected its gradient (" + x.Reason + "): " + RejectionText(x)
		}
	}
	return ""
}

// tell sets the text of an incident.
func (i *incident) tell(results []result) {
	var parts []string
	switch i.Class {
	case "opposed":
		parts = append(parts, fmt.Sprintf("points away from Delta in %s", i.share(results)), i.cost())
	case LeftOut:
		parts = append(parts, fmt.Sprintf("the rule did not use its gradient in %s; that costs no reputation",
			i.share(results)))
	case Absent:
		parts = append(parts, fmt.Sprintf("no gradient of it in %s", i.share(results)))
	}
	for _, reason := range i.reasons[:min(2, len(i.reasons))] {
		parts = append(parts, strings.TrimSuffix(strings.TrimSpace(reason), "."))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	i.What = strings.Join(parts, "; ")
}

// share says in how many rounds between the first and the last the trouble occurred.
func (i *incident) share(results []result) string {
	among := 0
	for _, r := range results {
		if r.Round >= i.First && r.Round <= i.Last {
			among++
		}
	}
	if among == 1 {
		return "this round"
	}
	return fmt.Sprintf("%d of %d rounds", i.Count, among)
}

// cost says how the incident changed the reputation.
func (i *incident) cost() string {
	if len(i.reputation) == 0 {
		return ""
	}
	last := i.reputation[len(i.reputation)-1]
	text := fmt.Sprintf("reputation %.4g", float64(last)/params.One)
	if len(i.loss) > 0 && !slices.ContainsFunc(i.loss, func(x string) bool { return x != i.loss[0] }) {
		text = i.loss[0] + " each, " + text
	}
	if zero := slices.Index(i.reputation, 0); zero >= 0 && last == 0 {
		text = strings.Replace(text, "reputation 0", fmt.Sprintf("reputation 0 since round %d", i.rounds[min(zero,
			len(i.rounds)-1)]), 1)
	}
	return text
}

// A span is a table row for consecutive rounds with the same result.
type span struct {
	Newest, Oldest result
	Count, Led     int
	Lost           int64    // change of the reputation, parts per million
	Known          bool     // the change is known
	Weight         *float64 // mean of the weights; nil if they are unknown
	weights        int
}

// spansOf returns the rows for results, newest first. Consecutive results that differ only in the
// round share a row.
func spansOf(results []result) []span {
	var out []span
	for _, r := range results {
		n := len(out)
		if n == 0 || !alike(out[n-1].Oldest.Verdict, r.Verdict) {
			out, n = append(out, span{Newest: r}), n+1
		}
		s := &out[n-1]
		s.Oldest, s.Count = r, s.Count+1
		s.Led += has([]uint32{r.Leader}, r.Verdict.Participant)
		if c := r.Verdict.Change; c != nil {
			s.Lost, s.Known = s.Lost+*c, true
		}
		s.weigh(r.Verdict.Weight)
	}
	return out
}

// weigh adds a weight, which may be nil, to the mean.
func (s *span) weigh(weight *float64) {
	if weight == nil {
		return
	}
	if s.Weight == nil {
		s.Weight = new(float64)
	}
	s.weights++
	*s.Weight += (*weight - *s.Weight) / float64(s.weights)
}

func alike(a, b Verdict) bool {
	return a.Fate == b.Fate && a.Opposed == b.Opposed && a.Passed == b.Passed && a.Offence == b.Offence &&
		a.convicted == b.convicted
}
