package chainview

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Effect is what a proposal changes when it is enacted.
type Effect struct {
	Changes []params.Change `json:"changes,omitempty"` // the changed parameters, with their current and new values
	Now     bool            `json:"now,omitempty"`     // whether the epoch begins before the running epoch's end
	Members string          `json:"members,omitempty"` // N (participants) and f (faults) before and after a removal
	Zero    bool            `json:"zero_f,omitempty"`  // whether f falls from above 0 to 0
}

// EffectOf returns the effect of an open proposal for an epoch or a removal, and an empty Effect for
// a proposal of another kind. It computes the effect from the proposal's content, and fails if the
// proposal's id is not the hash of the content.
func EffectOf(m query.Membership, p query.Proposal, current params.Params) (e Effect, err error) {
	if p.Kind != tx.KindStartEpoch.String() && p.Kind != tx.KindRemove.String() {
		return e, nil
	}
	body, err := p.Body()
	if err != nil {
		return e, err
	}
	switch b := body.(type) {
	case *tx.Remove:
		return EffectOfEnd(m, b.Subject), nil
	case *tx.StartEpoch:
		next, err := params.Decode(b.Params)
		if err != nil {
			return e, fmt.Errorf("proposal %s: %w", p.ID, err)
		}
		e.Now, e.Zero = b.Now, m.Byzantine > 0 && next.Rule.F(m.Participants) == 0
		e.Changes, err = params.Changes(current, next)
		return e, err
	}
	return e, nil
}

// EffectOfEnd returns the effect of the end of a participant's membership: the new N and f of the learning. For a
// validator the effect also has the new number of validators and the f of consensus.
func EffectOfEnd(m query.Membership, index uint32) (e Effect) {
	validator := false
	for _, q := range m.Members {
		if q.Index == index && !q.Active {
			return e
		}
		validator = validator || q.Index == index && q.Validator
	}
	n := m.Participants - 1
	f := min(m.Byzantine, params.MaxByzantine(n))
	e.Members = fmt.Sprintf("after it N is %d (now %d) and f %d (now %d)", n, m.Participants, f, m.Byzantine)
	e.Zero = f == 0 && m.Byzantine > 0
	if validator {
		before, after := params.MaxByzantine(m.Validators), params.MaxByzantine(m.Validators-1)
		e.Members += fmt.Sprintf("; of validators %d (now %d) and f %d (now %d)", m.Validators-1, m.Validators, after, before)
		e.Zero = e.Zero || after == 0 && before > 0
	}
	return e
}

// Lines returns the effect as lines of text.
func (e Effect) Lines() (lines []string) {
	for _, c := range e.Changes {
		lines = append(lines, c.String())
	}
	if e.Members != "" {
		lines = append(lines, e.Members)
	}
	if e.Zero {
		lines = append(lines, "f falls to 0: no fault is withstood then")
	}
	return lines
}

// These patterns match the beginning of a proposal's text up to the index of a member.
var (
	aboutProposer = regexp.MustCompile(`^(\d+) proposes `)
	aboutSubject  = regexp.MustCompile(`^((?:\d+ proposes to (?:remove|restore)|leave of|rotation of) )(\d+)`)
)

// MonikerText returns a moniker, in quotes unless it is a plain word: a moniker may be any text.
func MonikerText(moniker string) string {
	if moniker == "" || strings.ContainsFunc(moniker, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return strconv.Quote(moniker)
	}
	return moniker
}

// AboutByName returns the text about a proposal with the moniker of each member beside its index, as
// "alice (#0)". Monikers that are not plain words are quoted, so that none adds a line to the text.
func AboutByName(m query.Membership, p query.Proposal) string {
	text := p.About
	if at := aboutSubject.FindStringSubmatch(text); at != nil {
		text = at[1] + nameAt(m, at[2]) + text[len(at[0]):]
	}
	if at := aboutProposer.FindStringSubmatch(text); at != nil {
		text = nameAt(m, at[1]) + text[len(at[1]):]
	}
	return text
}

// nameAt returns the moniker and the index of the member with an index in decimal digits, as "alice (#0)". If
// there is no such member, it returns only the index.
func nameAt(m query.Membership, index string) string {
	for _, q := range m.Members {
		if strconv.FormatUint(uint64(q.Index), 10) == index && q.Moniker != "" {
			return fmt.Sprintf("%s (#%s)", MonikerText(q.Moniker), index)
		}
	}
	return index
}
