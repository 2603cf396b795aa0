package pages

import (
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The max numbers of rounds in the chart of reputations, of rounds in the list, and of blocks.
const drawn, lastRounds, lastBlocks = 48, 10, 5

type homePage struct {
	Condition               condition
	Progress                progress
	Lead                    *query.Leader // nil if no round is open
	Last                    *chainview.Point
	Accuracy, Loss, Epsilon chart
	Reputation              chart                // of the first standings, a line each
	Standings               []chainview.Standing // the first standings
	People, More            int                  // number of all participants, and of those not shown
	Suspects                []chainview.Standing
	Alarms, MoreAlarms      int
	Tally                   *tally
	Rounds                  []chainview.Point
	Names                   map[uint32]string
	Budget                  float64
	Unmeasured              string // the reason why there is no accuracy
	Blocks                  []blockLine
}

// A condition says how the chain and the training stand, whatever single participants do.
type condition struct {
	Standstill string // why no block comes, "" if blocks come
	Learning   string // how good the newest measured model is, "" if none was measured
	Poor       bool   // the model is hardly better than guessing, or has become worse
}

func (b homePage) tables() []table {
	return []table{b.Accuracy.table(), b.Loss.table(), b.Epsilon.table(), b.Reputation.table()}
}

// home shows the training at a glance: curves, alarms, and the last rounds.
func home(r *Request) Content {
	now, people, offences := r.Course(), r.Participants(), r.Offences()
	points, all := now.Running(), firstConcerns(r.Standings())
	for i := range points {
		points[i].Offend(offences)
	}
	b := homePage{Progress: r.progress(now.Status, points), Standings: all[:min(some, len(all))], People: len(all),
		More: max(0, len(all)-some), Names: namesOf(all), Budget: now.Params.Privacy.Epsilon,
		Unmeasured: r.WhyUnmeasured(), Lead: r.Leader(), Last: lastMeasured(points), Rounds: newestFirst(points, lastRounds)}
	b.Condition.Standstill = r.Standstill()
	b.Condition.Learning, b.Condition.Poor = chainview.Learning(now.Status.Done, now.Params.Model.Classes, points)
	b.Suspects = slices.DeleteFunc(slices.Clone(all),
		func(s chainview.Standing) bool { return chainview.Rank(s.Alarm) < chainview.Rank(chainview.Differs) })
	b.Alarms = len(b.Suspects)
	b.Suspects = b.Suspects[:min(few, len(b.Suspects))]
	b.MoreAlarms = b.Alarms - len(b.Suspects)
	if n := len(points); n > 0 {
		b.Tally = tallyOf(points[n-1], all)
	}
	b.Accuracy, b.Loss, b.Epsilon = chartsOf(points, b.Budget)
	b.Reputation = r.reputationChart(thinned(points, drawn), b.Standings)
	r.date(b.Rounds)
	for i := range b.Rounds {
		b.Rounds[i].Missing, _ = b.Rounds[i].Absent(&b.Rounds[i], people)
	}
	last := int64(now.Status.Height)
	metas, _ := r.Headers(max(1, last-lastBlocks+1), last)
	closed := closedIn(now)
	for _, m := range slices.Backward(metas) {
		b.Blocks = append(b.Blocks, lineOfBlock(m, nil, closed))
	}
	return Content{"home", "Training", b}
}

// lastMeasured returns the last point with an accuracy, or else the last point. It returns nil if
// there are no points.
func lastMeasured(points []chainview.Point) *chainview.Point {
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].Accuracy != nil {
			return &points[i]
		}
	}
	if len(points) == 0 {
		return nil
	}
	return &points[len(points)-1]
}

// progress is the state of the training: how many rounds are closed, and how long the rest takes.
type progress struct {
	Closed, Planned uint64
	Pace            time.Duration // time per round in the last rounds; 0 if it is unknown
}

// Left returns the time that the remaining rounds take at the current pace, or 0 if it is unknown.
func (p progress) Left() time.Duration {
	return time.Duration(p.Planned-min(p.Planned, p.Closed)) * p.Pace
}

// progress computes the pace of the last rounds from the times of their blocks.
func (r *Request) progress(status query.Status, points []chainview.Point) progress {
	p := progress{Closed: status.Round, Planned: status.Rounds}
	if len(points) < 2 || status.Done {
		return p
	}
	first, last := points[max(0, len(points)-shown)], points[len(points)-1]
	from, until := r.TimeAt(first.Height), r.TimeAt(last.Height)
	if !from.IsZero() && until.After(from) {
		p.Pace = until.Sub(from) / time.Duration(last.Round-first.Round)
	}
	return p
}

// A tally counts the fates of the participants in one round.
type tally struct {
	Epoch, Round                                uint64
	Selected, LeftOut, Opposed, Refused, Absent int
	Small                                       int      // of the selected, with a small weight
	Offences                                    int      // participants with a proven offence for the round
	Weight                                      *float64 // of all together; nil if the rule gives none
}

// tallyOf counts a round's fates. Opposed gradients are also counted as selected or left out.
func tallyOf(p chainview.Point, all []chainview.Standing) *tally {
	t := &tally{Epoch: p.Epoch, Round: p.Round, Selected: p.Included - len(p.LeftOut), LeftOut: len(p.LeftOut),
		Opposed: len(p.Opposed), Refused: len(p.Refused), Absent: -len(p.Refused), Offences: len(p.Offenders)}
	for i, weight := range p.Weights {
		if t.Weight == nil {
			t.Weight = new(float64)
		}
		*t.Weight += weight
		if v := (chainview.Verdict{Fate: chainview.Selected, Weight: &p.Weights[i]}); weight > 0 && v.Small() {
			t.Small++
		}
	}
	for _, s := range all {
		if s.Active && s.Rounds > 0 && !p.Has(s.Participant) {
			t.Absent++
		}
	}
	t.Absent = max(0, t.Absent)
	return t
}
