package explorer

import (
	"context"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// measure evaluates the model after a point's round. The point stays as it is if there is no
// evaluator, if the node no longer has the model, or if it need not be measured.
func (t *tail) measure(ctx context.Context, p *Point) {
	if t.evaluate == nil || p.measured {
		return
	}
	t.mu.Lock()
	m := t.params.Model
	t.mu.Unlock()
	state, err := t.source.model(ctx, place{p.Epoch, p.Round})
	if err != nil {
		p.measured = absent(err)
		return
	}
	p.measured = true
	x, err := app.DecodeParameters(state.Parameters)
	if err == nil {
		var accuracy, loss float64
		if accuracy, loss, err = t.evaluate(m, x); err == nil {
			p.Accuracy, p.Loss = finite(accuracy), finite(loss)
		}
	}
	if err != nil {
		t.log("model is not measured", "round", p.Round, "err", err)
	}
}

// catchUp measures a few rounds that were missed, the newest first.
func (t *tail) catchUp(ctx context.Context) {
	if t.evaluate == nil {
		return
	}
	status, _, points, err := t.now()
	if err != nil {
		return
	}
	done := 0
	for i := len(points) - 1; i >= 0 && done < perTick; i-- {
		p := &points[i]
		if p.measured || p.Epoch != status.Epoch {
			continue
		}
		t.measure(ctx, p)
		done++
		t.mu.Lock()
		for k := range t.points {
			if q := &t.points[k]; q.Epoch == p.Epoch && q.Round == p.Round {
				q.Accuracy, q.Loss, q.measured = p.Accuracy, p.Loss, p.measured
			}
		}
		t.mu.Unlock()
	}
}

// finite returns a number that JSON can write.
func finite(x float64) *float64 {
	if x-x != 0 {
		return nil
	}
	return &x
}

// spentBy returns the largest epsilon of a participant by the end of each of the given rounds, of
// which the ledger closed the last. It subtracts from the ledger what the later rounds cost. It
// returns nil without a guarantee.
func spentBy(priv params.Privacy, people []app.Participant, records []*app.Record) []*float64 {
	out := make([]*float64, len(records))
	if len(priv.Cost) == 0 {
		return out
	}
	place, spent := map[uint32]int{}, make([][]uint64, len(people))
	for i, p := range people {
		place[p.Index], spent[i] = i, slices.Clone(p.Spent)
	}
	for i := len(records) - 1; i >= 0; i-- {
		epsilon, err := accountant.GreatestEpsilon(spent, priv.Delta)
		if err != nil {
			return out
		}
		out[i] = finite(epsilon)
		for _, c := range records[i].Contributions {
			at, known := place[c.Participant]
			if !known {
				continue
			}
			s := spent[at]
			for k := range min(len(s), len(priv.Cost)) {
				s[k] -= min(s[k], priv.Cost[k])
			}
		}
	}
	return out
}
