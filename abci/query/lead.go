package query

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Lead is the answer to /lead/{participant}: the draft that a leader may sign, and the gradients
// that the draft lists, so that a worker in another process can check the draft.
type Lead struct {
	Draft     *tx.Aggregate `json:"draft"`
	Gradients [][]byte      `json:"gradients"` // encoded transactions
}

func (q *Queries) queryLead(_ *app.State, arg string) (any, error) {
	who, alone := strings.CutSuffix(arg, "/draft")
	p, err := participant(who)
	if err != nil {
		return nil, err
	}
	v := q.Pool()
	draft, err := q.Draft(p, v)
	if err != nil || alone {
		return Lead{Draft: draft}, err
	}
	listed := make(map[string]bool, len(draft.Included))
	for _, in := range draft.Included {
		listed[string(in.Hash)] = true
	}
	lead := Lead{Draft: draft}
	for _, t := range v.Pending {
		if t.Gradient != nil && listed[string(t.Content[:])] {
			lead.Gradients = append(lead.Gradients, t.Raw)
		}
	}
	return lead, nil
}

func (q *Queries) queryPending(_ *app.State, arg string) (any, error) {
	p, err := participant(arg)
	if err != nil {
		return nil, err
	}
	v := q.Pool()
	for _, t := range v.Pending {
		if t.Gradient != nil && t.Gradient.Participant == p {
			return t.Raw, nil
		}
	}
	return nil, fmt.Errorf("%w: no gradient of participant %d in round %d is pending", ErrNotFound, p,
		v.State.Progress.Round)
}
