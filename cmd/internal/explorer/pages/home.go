package pages

import (
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The max numbers of rounds in the list, and of blocks.
const lastRounds, lastBlocks = 10, 5

type homePage struct {
	Condition          condition
	Progress           progress
	Lead               *query.Leader // nil if no round is open
	Last               *chainview.Point
	Charts             charts
	Standings          []chainview.Standing // the first standings
	People, More       int                  // number of all participants, and of those not shown
	Apart              []chainview.Standing
	Alarms, MoreAlarms int
	Rounds             []chainview.Point
	Names              map[uint32]string
	Budget             float64
	Unmeasured         string // the reason why there is no accuracy
	Blocks             []blockLine
}

// A condition says how the chain and the training stand, whatever single participants do.
type condition struct {
	Standstill string // why no block comes, "" if blocks come
	Learning   string // how good the newest measured model is, "" if none was measured
	Poor       bool   // the model is hardly better than guessing, or has become worse
}

func (b homePage) tables() []table { return b.Charts.tables() }

// home shows the training at a glance: curves, alarms, and the last rounds.
func home(r *Request) Content {
	now, people, offences := r.Course(), r.Participants(), r.Offences()
	points, all := now.Running(), firstConcerns(r.Standings())
	for i := range points {
		points[i].Offend(offences)
	}
	b := homePage{Progress: r.progress(now.Status, points), Standings: all[:min(some, len(all))], People: len(all),
		More: max(0, len(all)-some), Names: namesOf(all), Budget: now.Params.Privacy.Epsilon,
		Unmeasured: r.WhyUnmeasured(), Lead: r.Leader(), Last: lastMeasured(points),
		Rounds: slices.Clone(points[max(0, len(points)-lastRounds):])}
	slices.Reverse(b.Rounds)
	b.Condition.Standstill = r.Standstill()
	b.Condition.Learning, b.Condition.Poor = chainview.Learning(now.Status.Done, now.Params.Model.Classes, points)
	b.Apart = slices.DeleteFunc(slices.Clone(all),
		func(s chainview.Standing) bool { return chainview.Rank(s.Alarm) < chainview.Rank(chainview.Differs) })
	b.Alarms = len(b.Apart)
	b.Apart = b.Apart[:min(few, len(b.Apart))]
	b.MoreAlarms = b.Alarms - len(b.Apart)
	b.Charts = chartsOf(points, b.Budget)
	r.date(b.Rounds)
	for i := range b.Rounds {
		b.Rounds[i].Missing = b.Rounds[i].Absent(people)
	}
	last := int64(now.Status.Height)
	metas, _ := r.Headers(max(1, last-lastBlocks+1), last)
	closed := closedIn(now)
	for _, m := range slices.Backward(metas) {
		b.Blocks = append(b.Blocks, lineOfBlock(m, nil, closed))
	}
	return Content{"home", "Training", b}
}

// lastMeasured returns the last point with an accuracy, or else the last point. It returns nil if there are no points.
func lastMeasured(points []chainview.Point) (last *chainview.Point) {
	for i := range points {
		if p := &points[i]; last == nil || last.Accuracy == nil || p.Accuracy != nil {
			last = p
		}
	}
	return last
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
