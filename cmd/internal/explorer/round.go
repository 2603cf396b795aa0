package explorer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type roundPage struct {
	*Story
	Map          *gradientMap // nil if the shape is not known
	Shown        []fateRow    // one page of the verdicts, the most urgent first
	Pager        pager
	Names        map[uint32]string
	Outputs      []chainview.Verdict // the largest VRF outputs
	MoreOutputs  int
	Timing       *query.Timing
	Closed       time.Time // time of the block; zero if the node has dropped it
	Before, Next *uint64
	Measure      string // the name of the rule's measure: score, weight or mixtures; "" if it has none
	Note         string // an explanation of the rule, if it gives no score
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
	Near  string   // the number of the rule's mixtures that contain it; "" if the rule mixes none
}

// Measured returns the weight, or the ratio of the score to that of the last selected gradient.
func (f fateRow) Measured() string {
	switch {
	case f.Weight != nil:
		return query.WeightText(f.Weight)
	case f.Times != nil && *f.Times >= 10:
		return fmt.Sprintf("%.0f times", *f.Times)
	case f.Times != nil:
		return fmt.Sprintf("%.2f times", *f.Times)
	case f.Near != "":
		return f.Near
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
func (s *Server) round(r *http.Request) (content, error) {
	at, err := placeOf(r)
	if err != nil {
		return content{}, err
	}
	story, err := s.story(r.Context(), at)
	if err != nil {
		return content{}, err
	}
	b := roundPage{Story: story, Names: map[uint32]string{},
		Point: chainview.Point{Accuracy: story.Accuracy, Examples: story.Examples}}
	b.Closed = s.source.times(r.Context(), story.Height, story.Height)[story.Height]
	b.Verify = s.verifying(r.Context(), fmt.Sprintf("round %d %d", at.Epoch, at.Round))
	b.elected()
	record, err := s.source.record(r.Context(), at)
	if err != nil {
		return content{}, err
	}
	if err := s.measureRound(r, &b, at, record); err != nil {
		return content{}, err
	}
	if timing, err := known[query.Timing](r.Context(), s.source, "/timing/"+at.String()); err == nil {
		b.Timing = &timing
	}
	if at.Round > 0 {
		before := at.Round - 1
		b.Before = &before
	}
	status, running, _, _ := s.tail.now()
	b.Epsilon = s.epsilonOf(r.Context(), at, story.Height)
	if at.Epoch == status.Epoch {
		b.Budget = running.Privacy.Epsilon
	}
	if next := at.Round + 1; at.Epoch < status.Epoch || next < status.Round {
		b.Next = &next
	}
	return content{"round", fmt.Sprintf("Round %d of epoch %d", at.Round, at.Epoch), b}, nil
}

// epsilonOf returns the largest spent epsilon after a round, from the event of the round's block.
func (s *Server) epsilonOf(ctx context.Context, at params.RoundID, height uint64) *float64 {
	if p, ok := s.tail.known()[at]; ok && p.Epsilon != nil {
		return p.Epsilon
	}
	return s.source.epsilonAt(ctx, height)
}

// measureRound sets the rows of one page of verdicts, and the map.
func (s *Server) measureRound(r *http.Request, b *roundPage, at params.RoundID, record *app.Record) error {
	form, err := s.shape(r.Context(), record)
	if err == nil {
		b.Map = mapOf(form, at, b.Verdicts)
		relate(b.Verdicts, form, record.Rule)
	}
	var page []chainview.Verdict
	if page, b.Pager, err = pageOf(r, firstFates(b.Verdicts)); err != nil {
		return err
	}
	longest := 0.0
	for _, v := range b.Verdicts {
		if v.Times != nil {
			longest = max(longest, *v.Times)
		}
	}
	for _, v := range page {
		row := fateRow{Verdict: v}
		switch {
		case v.Weight != nil:
			b.Measure, row.Bar = "weight", 100**v.Weight
		case v.Times != nil && longest > 0:
			b.Measure, row.Bar, row.Mark = "score", 100**v.Times/longest, 100/longest
		}
		if form != nil {
			form.complete(&row, b.Rule)
			if row.Near != "" {
				b.Measure = "mixtures"
			}
		}
		b.Shown = append(b.Shown, row)
	}
	b.Note = ruleText(b.Rule, b.Measure)
	return nil
}

// complete sets the norm, the angle and the mixtures of a row.
func (s *shape) complete(row *fateRow, rule string) {
	i := slices.Index(s.Participants, row.Participant)
	if i < 0 {
		return
	}
	row.Norm, row.Angle = s.Norm[i], s.angle(row.Participant)
	if s.Near != nil && mixes(rule) && row.Weight == nil && row.Times == nil {
		row.Near, row.Bar = fmt.Sprintf("%d of %d", s.Near[i], len(s.Near)), 100*float64(s.Near[i])/float64(len(s.Near))
	}
}

// relate adds to the reasons what follows from the round's shape.
func relate(verdicts []chainview.Verdict, s *shape, rule string) {
	if !s.Known {
		return
	}
	for k := range verdicts {
		v := &verdicts[k]
		i := slices.Index(s.Participants, v.Participant)
		if i < 0 {
			continue
		}
		if s.Near != nil {
			v.Why += nearText(s.Near[i], len(s.Near), rule)
		}
		if v.Opposed {
			v.Why += fmt.Sprintf(" The angle is %.0f degrees.", *s.angle(v.Participant))
		}
	}
}

// nearText says to how many gradients a gradient is near, as the rule counts.
func nearText(near, all int, rule string) string {
	if mixes(rule) {
		return fmt.Sprintf(" It is in %d of the %d mixtures of nearest gradients.", near, all)
	}
	return fmt.Sprintf(" It is among the nearest of %d of the %d others.", near, all-1)
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

// placeOf parses the epoch and the round in the path of a request.
func placeOf(r *http.Request) (at params.RoundID, err error) {
	if at.Epoch, err = number("epoch", r.PathValue("epoch")); err == nil {
		at.Round, err = number("round", r.PathValue("round"))
	}
	return at, err
}

// firstFates sorts verdicts by urgency for an auditor, and equally urgent ones by number.
func firstFates(all []chainview.Verdict) []chainview.Verdict {
	rank := func(v chainview.Verdict) int {
		switch {
		case v.Opposed || v.Offence:
			return 0
		case v.Fate == chainview.Refused:
			return 1
		case v.Passed:
			return 2
		case v.Fate == chainview.Absent:
			return 3
		case v.Fate == chainview.LeftOut:
			return 4
		case v.Small():
			return 5
		case v.WeightNote() != "":
			return 6
		}
		return 7
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b chainview.Verdict) int { return rank(a) - rank(b) })
	return all
}
