package chainview

import (
	"fmt"

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
		e.Members += fmt.Sprintf("; of validators %d (now %d) and f %d (now %d)", m.Validators-1, m.Validators, after,
			before)
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
