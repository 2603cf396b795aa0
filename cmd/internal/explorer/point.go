package explorer

import (
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Point is a closed round in the history.
type Point struct {
	Epoch    uint64   `json:"epoch"`
	Round    uint64   `json:"round"`
	Height   uint64   `json:"height"`
	Leader   uint32   `json:"leader"`
	View     uint32   `json:"view"`
	Included int      `json:"included"`
	LeftOut  []uint32 `json:"left_out"` // included, and not selected by the rule
	Opposed  []uint32 `json:"opposed"`  // opposed to Delta by more than reputation.margin
	Refused  []uint32 `json:"refused"`  // not included, and the node did not admit a gradient that they signed
	Passed   []uint32 `json:"passed"`   // participants ranked before the leader that closed the round
	More     int      `json:"more"`     // participants that brief dropped from the lists
	Margin   *int64   `json:"margin"`   // null if the rule selects no gradients
	Accuracy *float64 `json:"accuracy"` // null if it was not measured
	Examples int      `json:"examples"` // test rows that the accuracy was measured on; 0 if it was not
	Loss     *float64 `json:"loss"`
	Epsilon  *float64 `json:"epsilon"` // the largest spend of a participant; null if unknown or without a guarantee

	At      time.Time `json:"-"` // time of the block; zero if the page does not need it
	Missing int       `json:"-"` // members without a gradient, if the page needs it
	// Offenders have a proven offence for the round, if the page needs them.
	Offenders []uint32 `json:"-"`

	included []uint32
	weights  []float64         // of the included, in their order; nil if the rule gives none
	refusals []query.Rejection // of participants whose gradients are not included
	model    []byte            // hash
	delta    []byte            // hash
	measured bool              // the model was measured, or the evaluator cannot measure it
}

func pointOf(r *app.Record) Point {
	p := Point{
		Epoch: r.Epoch, Round: r.Round, Height: r.Height, Leader: r.Leader, View: r.View, Included: len(r.Contributions),
		Margin:  marginOf(r),
		LeftOut: []uint32{}, Opposed: []uint32{}, Refused: []uint32{}, Passed: []uint32{}, model: r.ModelHash,
		delta: r.DeltaDigest,
	}
	for _, c := range r.Contributions {
		p.included = append(p.included, c.Participant)
		if chainview.Weighs(r.Rule) {
			p.weights = append(p.weights, *chainview.WeightOf(r, c))
		}
		if !c.Selected {
			p.LeftOut = append(p.LeftOut, c.Participant)
		}
		if c.Opposed {
			p.Opposed = append(p.Opposed, c.Participant)
		}
	}
	for view, participant := range r.Ranking {
		if uint32(view) < r.View && participant != r.Leader {
			p.Passed = append(p.Passed, participant)
		}
	}
	return p
}

// brief returns the point as /v1 answers it, with lists cut to the default length of an answer. The
// round's verdicts have all participants.
func (p Point) brief() Point {
	for _, list := range []*[]uint32{&p.LeftOut, &p.Opposed, &p.Refused, &p.Passed} {
		all := *list
		*list = first(all)
		p.More += len(all) - len(*list)
	}
	return p
}

// first returns the first participants of a list, at most as many as an answer without ?limit= has.
func first(list []uint32) []uint32 { return list[:min(len(list), usualPeople)] }

// marginOf returns the margin of a round's selection, or nil if its rule does not select.
func marginOf(r *app.Record) *int64 {
	if r.Margin < 0 {
		return nil
	}
	return &r.Margin
}
