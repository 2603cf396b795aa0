package explorer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The max numbers of rounds in the chart of reputations, of rounds in the list, and of blocks.
const drawn, lastRounds, lastBlocks = 48, 10, 5

type homePage struct {
	Condition               condition
	Progress                progress
	Lead                    *query.Leader // nil if no round is open
	Last                    *Point
	Accuracy, Loss, Epsilon chart
	Reputation              chart                // of the first standings, a line each
	Standings               []chainview.Standing // the first standings
	People, More            int                  // number of all participants, and of those not shown
	Suspects                []chainview.Standing
	Alarms, MoreAlarms      int
	Tally                   *tally
	Rounds                  []Point
	Names                   map[uint32]string
	Budget                  float64
	Unmeasured              string // the reason why there is no accuracy
	Blocks                  []blockLine
}

func (b homePage) tables() []table {
	return []table{b.Accuracy.table(), b.Loss.table(), b.Epsilon.table(), b.Reputation.table()}
}

// home shows the training at a glance: curves, alarms, and the last rounds.
func (s *Server) home(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	for i := range points {
		points[i].Offenders = offendersIn(points[i], offences)
	}
	points = slices.DeleteFunc(points, func(p Point) bool { return p.Epoch != status.Epoch })
	all = firstConcerns(all)
	b := homePage{Progress: s.progress(r.Context(), status, points), Standings: all[:min(some, len(all))],
		People: len(all), More: max(0, len(all)-some), Names: map[uint32]string{}, Budget: running.Privacy.Epsilon,
		Unmeasured: s.tail.whyUnmeasured()}
	b.Condition = s.condition(r.Context(), status, running.Model.Classes, points)
	b.alarms(all)
	if n := len(points); n > 0 {
		t := tallyOf(points[n-1], all)
		b.Tally = &t
	}
	b.Last = lastMeasured(points)
	b.Accuracy, b.Loss, b.Epsilon = chartsOf(points, b.Budget)
	b.Rounds = newestFirst(points, lastRounds)
	if b.Reputation, err = s.reputationChart(r.Context(), thinned(points, drawn), b.Standings); err != nil {
		return content{}, err
	}
	s.date(r.Context(), b.Rounds)
	for i := range b.Rounds {
		b.Rounds[i].Missing, _ = missingIn(b.Rounds[i], b.Rounds[i], people)
	}
	if b.Lead, err = s.lead(r.Context(), status); err != nil {
		return content{}, err
	}
	b.Blocks = s.lastBlocks(r.Context(), status)
	return content{"home", "Training", b}, nil
}

// lastBlocks returns the last blocks, newest first. It returns none if the node does not answer.
func (s *Server) lastBlocks(ctx context.Context, status query.Status) (lines []blockLine) {
	last := int64(status.Height)
	metas, err := s.source.metas(ctx, max(1, last-lastBlocks+1), last)
	if err != nil {
		return nil
	}
	closed := s.closedAt()
	for _, m := range slices.Backward(metas) {
		lines = append(lines, lineOfBlock(m, nil, closed))
	}
	return lines
}

// alarms sets the names of the participants, and which of them are suspect or differ.
func (b *homePage) alarms(all []chainview.Standing) {
	for _, st := range all {
		b.Names[st.Participant] = st.Moniker
		if chainview.Rank(st.Alarm) >= chainview.Rank(chainview.Differs) {
			b.Alarms++
			b.Suspects = append(b.Suspects, st)
		}
	}
	b.Suspects = b.Suspects[:min(few, len(b.Suspects))]
	b.MoreAlarms = b.Alarms - len(b.Suspects)
}

// chartsOf draws accuracy, loss and epsilon by round.
func chartsOf(points []Point, budget float64) (accuracy, loss, epsilon chart) {
	const page = "/training"
	return chartOf(page, "accuracy", "Test accuracy", "%", 1, points, func(p Point) *float64 { return p.Accuracy }),
		chartOf(page, "loss", "Test loss in nats", "", 0, points, func(p Point) *float64 { return p.Loss }),
		chartOf(page, "epsilon", "Epsilon spent", spentUnit, budget, points, func(p Point) *float64 { return p.Epsilon })
}

// lastMeasured returns the last point with an accuracy, or else the last point. It returns nil if
// there are no points.
func lastMeasured(points []Point) *Point {
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

// lead returns who may close the open round, or nil if no round is open.
func (s *Server) lead(ctx context.Context, status query.Status) (*query.Leader, error) {
	if status.Done {
		return nil, nil
	}
	open, err := known[query.Leader](ctx, s.source, "/leader")
	var refusal *client.Refusal
	switch {
	case err == nil:
		return &open, nil
	case errors.As(err, &refusal): // the training finished between the two queries
		return nil, nil
	}
	return nil, err
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
func (s *Server) progress(ctx context.Context, status query.Status, points []Point) progress {
	p := progress{Closed: status.Round, Planned: status.Rounds}
	if len(points) < 2 || status.Done {
		return p
	}
	first, last := points[max(0, len(points)-shown)], points[len(points)-1]
	from := s.source.times(ctx, first.Height, first.Height)[first.Height]
	until := s.source.times(ctx, last.Height, last.Height)[last.Height]
	if !from.IsZero() && until.After(from) {
		p.Pace = until.Sub(from) / time.Duration(last.Round-first.Round)
	}
	return p
}

// thinned returns at most n of the points, evenly spaced, with the first and the last. n is at least
// 2.
func thinned(points []Point, n int) []Point {
	if len(points) <= n {
		return points
	}
	out := make([]Point, n)
	for i := range out {
		out[i] = points[i*(len(points)-1)/(n-1)]
	}
	return out
}

// newestFirst returns the last n points, the newest first.
func newestFirst(points []Point, n int) []Point {
	out := slices.Clone(points[max(0, len(points)-n):])
	slices.Reverse(out)
	return out
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
func tallyOf(p Point, all []chainview.Standing) tally {
	t := tally{Epoch: p.Epoch, Round: p.Round, Selected: p.Included - len(p.LeftOut), LeftOut: len(p.LeftOut),
		Opposed: len(p.Opposed), Refused: len(p.Refused), Absent: -len(p.Refused),
		Offences: len(p.Offenders)}
	for i, weight := range p.weights {
		if t.Weight == nil {
			t.Weight = new(float64)
		}
		*t.Weight += weight
		if v := (Verdict{Fate: Selected, Weight: &p.weights[i]}); weight > 0 && v.Small() {
			t.Small++
		}
	}
	in := map[uint32]bool{}
	for _, who := range p.included {
		in[who] = true
	}
	for _, s := range all {
		if s.Active && s.Rounds > 0 && !in[s.Participant] {
			t.Absent++
		}
	}
	t.Absent = max(0, t.Absent)
	return t
}
