package chainview

import (
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// A Point is a closed round in the course of a chain.
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
	More     int      `json:"more"`     // participants that Brief dropped from the lists
	Margin   *int64   `json:"margin"`   // null if the rule selects no gradients
	Epsilon  *float64 `json:"epsilon"`  // the largest spend of a participant; null if unknown or without a guarantee
	Measures

	Members    []uint32          `json:"-"` // included
	Weights    []float64         `json:"-"` // of the Members, in their order; nil if the rule gives none
	Rejections []query.Rejection `json:"-"` // of participants whose gradients are not included
	ModelHash  []byte            `json:"-"`
	Delta      []byte            `json:"-"` // digest
	Measured   bool              `json:"-"` // the model was measured, or cannot be

	// A page sets these if it needs them: the time of the block, the number of members without a gradient, and the
	// participants with a proven offence for the round.
	At        time.Time `json:"-"`
	Missing   int       `json:"-"`
	Offenders []uint32  `json:"-"`
}

// Measures are what an evaluator found of a model. Those that are not known are null.
type Measures struct {
	Accuracy *float64           `json:"accuracy"`
	Examples int                `json:"examples"` // test rows that the accuracy was measured on; 0 if it was not
	Loss     *float64           `json:"loss"`
	Beside   *evaluate.Measures `json:"beside"` // what the accuracy does not say
}

// MeasuresOf returns the measures in an evaluation of a model.
func MeasuresOf(e model.Eval, m params.Model) Measures {
	return Measures{Finite(e.Accuracy), e.Examples, Finite(e.Loss), evaluate.Judge(e, m)}
}

// Quality returns the quality of a model of two classes, nil if it is not known.
func (m Measures) Quality() *evaluate.Quality {
	if m.Beside == nil {
		return nil
	}
	return m.Beside.Quality
}

// PointOf returns the point of a closed round, as far as its record says it.
func PointOf(r *app.Record) Point {
	p := Point{Epoch: r.Epoch, Round: r.Round, Height: r.Height, Leader: r.Leader, View: r.View,
		Included: len(r.Contributions), Margin: MarginOf(r), LeftOut: []uint32{}, Opposed: []uint32{}, Refused: []uint32{},
		Passed: []uint32{}, ModelHash: r.ModelHash, Delta: r.DeltaDigest}
	for _, c := range r.Contributions {
		p.Members = append(p.Members, c.Participant)
		if query.Weighs(r.Rule) {
			p.Weights = append(p.Weights, *query.WeightOf(r, c))
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

// apart returns those that a rule without weights left out although it selected most, nil if it did not select most.
func (p *Point) apart() []uint32 {
	if p.Weights != nil || 2*len(p.LeftOut) >= len(p.Members) {
		return nil
	}
	return p.LeftOut
}

// ID returns the epoch and the number of the round.
func (p *Point) ID() params.RoundID { return params.RoundID{Epoch: p.Epoch, Round: p.Round} }

// Has reports whether a participant's gradient is in the round.
func (p *Point) Has(participant uint32) bool {
	_, ok := slices.BinarySearch(p.Members, participant)
	return ok
}

// Brief returns the point with at most n participants in each list.
func (p Point) Brief(n int) Point {
	for _, list := range []*[]uint32{&p.LeftOut, &p.Opposed, &p.Refused, &p.Passed} {
		all := *list
		*list = all[:min(n, len(all))]
		p.More += len(all) - len(*list)
	}
	return p
}

// reject marks the participants whose gradients the node rejected. It leaves out participants with an included
// gradient, because the rejected gradient was then another one, or came at another time.
func reject(points []Point, all []query.Rejection) {
	for _, x := range all {
		i := slices.IndexFunc(points, func(p Point) bool { return p.Epoch == x.Epoch && p.Round == x.Round })
		if i < 0 || points[i].Has(x.Participant) {
			continue
		}
		p := &points[i]
		if p.Rejections = append(p.Rejections, x); x.Signed && !slices.Contains(p.Refused, x.Participant) {
			p.Refused = append(p.Refused, x.Participant)
		}
	}
}

// Offend sets the participants with a proven offence, two statements for the same round.
func (p *Point) Offend(offences []app.Offence) {
	for _, o := range offences {
		if o.Misbehavior == 0 && o.Epoch == p.Epoch && o.Round == p.Round && !slices.Contains(p.Offenders, o.Participant) {
			p.Offenders = append(p.Offenders, o.Participant)
		}
	}
}

// Absent returns the number of members without a gradient.
func (p *Point) Absent(people []app.Participant) (n int) {
	for i := range people {
		if who := &people[i]; who.Active && who.Joined <= p.Round && !p.Has(who.Index) {
			n++
		}
	}
	return n
}

// MarginOf returns the margin of a round's selection, or nil if its rule does not select.
func MarginOf(r *app.Record) *int64 {
	if r.Margin < 0 {
		return nil
	}
	return &r.Margin
}

// A Result is the outcome of one round for one participant.
type Result struct {
	Point
	Verdict Verdict
	Epsilon *float64
	Turn    string // the reason why its turn to lead failed, if it failed
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

// Spans returns the rows for results, newest first. Consecutive results that differ only in the round share a row.
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

// Finite returns a pointer to a number, or nil if it is NaN or infinite, which JSON cannot encode.
func Finite(x float64) *float64 {
	if x-x != 0 {
		return nil
	}
	return &x
}

// SpentBy returns the largest epsilon of a participant at the end of each given round, the last of which is the last
// in the ledger: it subtracts the cost of later rounds from the ledger. All entries are nil if there is no guarantee.
func SpentBy(priv params.Privacy, people []app.Participant, records []*app.Record) []*float64 {
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
		out[i] = Finite(epsilon)
		payers := slices.Clone(records[i].Withheld) // a commitment without its gradient costs as much
		for _, c := range records[i].Contributions {
			payers = append(payers, c.Participant)
		}
		for _, payer := range payers {
			at, known := place[payer]
			if !known {
				continue
			}
			s := spent[at]
			for k := range min(len(s), len(priv.Cost)) {
				if s[k] <= accountant.ChainMost { // above it sums are cut off
					s[k] -= min(s[k], priv.Cost[k])
				}
			}
		}
	}
	return out
}
