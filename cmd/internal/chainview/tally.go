package chainview

import (
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// Tally counts what a participant did in all rounds.
type Tally struct {
	Included, Selected, Opposed, Absent, Led int

	Withheld int // commitments without the gradient
	Missed   int // turns as leader

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
	all[r.Leader].Led++
	in := map[uint32]bool{}
	for _, c := range r.Contributions {
		in[c.Participant] = true
		t := &all[c.Participant]
		if t.Included++; c.Selected {
			t.Selected++
		}
		if c.Opposed {
			t.Opposed++
		}
		t.Weigh(r, c)
	}
	for _, index := range r.Withheld {
		all[index].Withheld++
	}
	for view, index := range r.Ranking {
		if uint32(view) < r.View {
			all[index].Missed++
		}
	}
	for _, p := range people {
		if p.Active && p.Joined <= r.Round && !in[p.Index] {
			all[p.Index].Absent++
		}
	}
}
