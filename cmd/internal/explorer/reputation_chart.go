package explorer

import (
	"context"
	"fmt"
	"math"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// namedLines is the max number of lines with a name, and namesApart the min distance of two names.
const namedLines, namesApart = 4, 13.0

// name writes the participant's name beside a line, apart from the names of the other lines.
func (c *chart) name(l *line) {
	l.Name = fmt.Sprintf("#%d", l.Who)
	apart := namesApart
	if l.Y > frameBottom/2 { // above the labels of the axis
		apart = -namesApart
	}
	for _, other := range c.Lines {
		if other.Name != "" && math.Abs(other.Y-l.Y) < namesApart {
			l.Y = other.Y + apart
		}
	}
}

// reputationAfter returns the participant's reputation after a round's block, in parts per million. The
// record has the reputation before evidence in the same block.
func reputationAfter(r *app.Record, c app.Contribution, offences []app.Offence) int64 {
	for _, o := range offences {
		if o.Participant == c.Participant && o.Height == r.Height {
			return 0
		}
	}
	return c.Reputation
}

// reputationChart draws the reputations of participants by round, one line each. The rounds are
// given oldest first, the participants by urgency. Only participants with an alarm are named.
func (s *Server) reputationChart(ctx context.Context, points []Point, all []chainview.Standing) (chart, error) {
	c := chart{Name: "reputation", Title: "Reputation", Across: "round", CSV: "/training/reputation.csv", Lines: []line{}}
	if len(points) < 2 || len(all) == 0 {
		return c, nil
	}
	c.axes(points[0].Round, points[len(points)-1].Round, 1)
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return c, err
	}
	dots := map[uint32][]dot{}
	for _, p := range points {
		record, err := s.source.record(ctx, params.RoundID{Epoch: p.Epoch, Round: p.Round})
		if err != nil {
			return c, err
		}
		for _, x := range record.Contributions {
			dots[x.Participant] = append(dots[x.Participant], dot{p.Round,
				float64(reputationAfter(record, x, offences)) / params.One})
		}
	}
	lowest, full := math.Inf(1), 0
	for _, st := range all {
		l := line{Who: st.Participant, Class: st.Alarm, dots: dots[st.Participant]}
		if len(l.dots) < 2 {
			continue
		}
		last := l.dots[len(l.dots)-1].value
		lowest = min(lowest, last)
		if last >= 1 {
			full++
		}
		l.Points, l.Y = c.polyline(l.dots), c.up(last)
		if st.Alarm != chainview.OK && len(c.Lines) < namedLines {
			c.name(&l)
			l.Look = len(c.Lines)
			c.Keys = append(c.Keys, lineKey{l.Class, l.Look, fmt.Sprintf("#%d %s", st.Participant, short(st.Moniker, 12))})
		}
		c.Lines = append(c.Lines, l)
	}
	if c.Count = len(c.Lines); c.Count > 0 {
		c.Legend = fmt.Sprintf("%d of %d have 1, the lowest is %.4g", full, c.Count, lowest)
	}
	return c, nil
}
