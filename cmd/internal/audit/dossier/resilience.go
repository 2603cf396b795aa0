package dossier

import (
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/krum/rules"
)

// A span is a sequence of rounds with the same rule, n and f.
type span struct {
	epoch, first, last, from, to uint64 // rounds and heights
	rule                         string
	n, f, least, most            int // participants, attackers withstood, fewest and most gradients
	fault                        string
}

// resilience says for every round whether the condition of its rule held.
func (w *writer) resilience() error {
	w.Section("Resilience", "epoch", "rounds", "heights", "rule", "n", "f", "gradients", "condition of the rule")
	held, rounds := 0, len(w.Records)
	var spans []span
	for _, r := range w.Records {
		s, err := w.spanOf(r)
		if err != nil {
			return err
		}
		if s.fault == "" {
			held++
		}
		if n := len(spans); n > 0 && spans[n-1].extends(s) {
			last := &spans[n-1]
			last.last, last.to = s.last, s.to
			last.least, last.most = min(last.least, s.least), max(last.most, s.most)
			continue
		}
		spans = append(spans, s)
	}
	basis := recomputed("the records, params, epochs, and participants")
	w.Say(basis, "The condition of the rule held in %d of %d rounds.", held, rounds)
	w.Say(manual, "n is the number of active participants in a round and f how many attackers among them the parameters "+
		"count on; how many there were is not known to the chain.")
	for _, s := range spans {
		condition := "held"
		if s.fault != "" {
			condition = "not held: " + s.fault
		}
		w.Row(basis, fmt.Sprint(s.epoch), fmt.Sprintf("%d to %d", s.first, s.last), fmt.Sprintf("%d to %d", s.from, s.to),
			s.rule, fmt.Sprint(s.n), fmt.Sprint(s.f), fmt.Sprintf("%d to %d", s.least, s.most), condition)
	}
	return nil
}

// spanOf returns the span of one round.
func (w *writer) spanOf(r app.Record) (span, error) {
	rule, err := rules.Lookup(r.Rule)
	if err != nil {
		return span{}, fmt.Errorf("round %d of epoch %d: %w", r.Round, r.Epoch, err)
	}
	n, m := w.Active(r.Height), len(r.Contributions)
	s := span{epoch: r.Epoch, first: r.Round, last: r.Round, from: r.Height, to: r.Height, rule: r.Rule, n: n,
		f: audit.ParamsOf(w.State, r.Epoch).Rule.F(n), least: m, most: m}
	if err = rule.Condition(n, s.f); err == nil {
		err = rule.Feasible(n, s.f, m)
	}
	if err != nil {
		s.fault = err.Error()
	}
	return s, nil
}

// extends reports whether the span of another round continues this span.
func (s span) extends(next span) bool {
	return s.epoch == next.epoch && s.last+1 == next.first && s.rule == next.rule && s.n == next.n && s.f == next.f &&
		s.fault == next.fault
}
