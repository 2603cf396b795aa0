package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type roundPage struct {
	*chainview.Story
	Map          *gradientMap // nil if the shape is not known
	Shown        []fateRow    // one page of the verdicts, the most urgent first
	Pager        pager
	Names        map[uint32]string
	Outputs      []chainview.Verdict // the largest VRF outputs
	MoreOutputs  int
	Timing       *query.Timing
	Closed       time.Time // time of the block; zero if the node has dropped it
	Before, Next *uint64
	Measure      string // the name of the rule's measure: score or weight; "" if it has none
	Note         string // what the rule's score means, or why there is none
	Verify       string // the command
	Point        chainview.Point
	Epsilon      *float64 // the largest spent epsilon after the round; nil if the node has dropped the block's events
	Budget       float64  // 0 if there is none, or if it is that of another epoch
}

// fateRow is a verdict with values from the round's shape.
type fateRow struct {
	chainview.Verdict
	Angle *float64 // to Delta, in degrees
	Norm  float64  // in grid steps; 0 if it is unknown
	Bar   float64  // length of the bar of its score or weight, of 100
	Mark  float64  // position of the last selected score on that bar; 0 for none
}

// Measured returns the weight, or the ratio of the score to that of the last selected gradient.
func (f fateRow) Measured() string {
	switch {
	case f.Weight != nil:
		return chainview.WeightText(f.Weight)
	case f.Times != nil && *f.Times >= 10:
		return fmt.Sprintf("%.0f times", *f.Times)
	case f.Times != nil:
		return fmt.Sprintf("%.2f times", *f.Times)
	}
	return "-"
}

func (b roundPage) tables() []table {
	if b.Map == nil {
		return nil
	}
	return []table{b.Map.Values}
}

// round shows a closed round, with a verdict on every participant.
func round(r *Request) Content {
	at := r.Place()
	b := roundPage{Story: r.Story(at), Names: map[uint32]string{}}
	if r.Err() != nil {
		return Content{}
	}
	now, _ := r.Now()
	b.Point = chainview.Point{Round: at.Round, Measures: b.Measures}
	b.Closed = r.TimeAt(b.Height)
	b.Verify, _, _ = r.verifying(0, fmt.Sprintf("round %d %d", at.Epoch, at.Round))
	b.elected()
	b.measure(r)
	if timing, err := chainview.Try[query.Timing](r.Reader, "/timing/"+at.String()); err == nil {
		b.Timing = &timing
	}
	if before := at.Round - 1; at.Round > 0 {
		b.Before = &before
	}
	if b.Epsilon = now.Known()[at].Epsilon; b.Epsilon == nil {
		b.Epsilon = r.EpsilonAt(b.Height)
	}
	if at.Epoch == now.Status.Epoch {
		b.Budget = now.Params.Privacy.Epsilon
	}
	if next := at.Round + 1; at.Epoch < now.Status.Epoch || next < now.Status.Round {
		b.Next = &next
	}
	return Content{"round", fmt.Sprintf("Round %d of epoch %d", at.Round, at.Epoch), b}
}

// measure sets the rows of one page of verdicts, and the map.
func (b *roundPage) measure(r *Request) {
	at := r.Place()
	shape := r.Shape(r.Record(at))
	if shape != nil {
		b.Map = mapOf(shape, at, b.Verdicts)
	}
	longest := 0.0
	for _, v := range b.Verdicts {
		if v.Times != nil {
			longest = max(longest, *v.Times)
		}
	}
	var page []chainview.Verdict
	page, b.Pager = pageOf(r, firstFates(b.Verdicts))
	for _, v := range page {
		row := fateRow{Verdict: v}
		switch {
		case v.Weight != nil:
			b.Measure, row.Bar = "weight", 100**v.Weight
		case v.Times != nil && longest > 0:
			b.Measure, row.Bar, row.Mark = "score", 100**v.Times/longest, 100/longest
		}
		if shape != nil {
			if i := slices.Index(shape.Participants, v.Participant); i >= 0 {
				row.Norm, row.Angle = shape.Norm[i], shape.Angle(v.Participant)
			}
		}
		b.Shown = append(b.Shown, row)
	}
	switch b.Measure {
	case "score":
		b.Note = fmt.Sprintf("The score is what the rule %s says of how badly a gradient fits: the lowest fits best.", b.Rule)
	case "":
		b.Note = fmt.Sprintf("The rule %s scores no whole gradients: it takes coordinates, or means of several.", b.Rule)
	}
}

// elected sets the names of the leaders, and the largest VRF outputs.
func (b *roundPage) elected() {
	for _, v := range b.Verdicts {
		b.Names[v.Participant] = v.Moniker
		if v.VRFOutput != "" {
			b.Outputs = append(b.Outputs, v)
		}
	}
	slices.SortStableFunc(b.Outputs, func(a, c chainview.Verdict) int { return cmp.Compare(c.VRFOutput, a.VRFOutput) })
	b.MoreOutputs = max(0, len(b.Outputs)-some)
	b.Outputs = b.Outputs[:len(b.Outputs)-b.MoreOutputs]
}

// firstFates sorts verdicts by urgency for an auditor, and equally urgent ones by number.
func firstFates(all []chainview.Verdict) []chainview.Verdict {
	rank := func(v chainview.Verdict) int {
		return slices.Index([]bool{v.Opposed || v.Offence, v.Fate == chainview.Refused, v.Passed, v.Fate == chainview.Absent,
			v.Fate == chainview.LeftOut, v.Small(), v.WeightNote() != "", true}, true)
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b chainview.Verdict) int { return rank(a) - rank(b) })
	return all
}
