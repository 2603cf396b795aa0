package explorer

import (
	"context"
	"fmt"
	"math"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// namedLines is the max number of lines with a name.
const namedLines = 4

// reputationChart draws the reputations of participants by round, one line each. The rounds are
// given oldest first, the participants by urgency. Only participants with an alarm are named.
func (s *Server) reputationChart(ctx context.Context, points []chainview.Point, all []chainview.Standing) (chart, error) {
	c := chart{Name: "reputation", Title: "Reputation", Across: "round", CSV: "/training/reputation.csv", Lines: []line{}}
	if len(points) < 2 || len(all) == 0 {
		return c, nil
	}
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
		for who, reputation := range chainview.Reputations(record, offences) {
			dots[who] = append(dots[who], dot{p.Round, float64(reputation) / params.One})
		}
	}
	var lines []line
	lowest, full, named := math.Inf(1), 0, 0
	for _, st := range all {
		l := line{Who: st.Participant, Class: st.Alarm, dots: dots[st.Participant]}
		if len(l.dots) < 2 {
			continue
		}
		last := l.dots[len(l.dots)-1].value
		if lowest = min(lowest, last); last >= 1 {
			full++
		}
		if st.Alarm != chainview.OK && named < namedLines {
			l.Name, named = fmt.Sprintf("#%d %s", st.Participant, short(st.Moniker, 12)), named+1
		}
		lines = append(lines, l)
	}
	c.many(lines, points[0].Round, points[len(points)-1].Round, 1)
	if c.Count = len(lines); c.Count > 0 {
		c.Legend = fmt.Sprintf("%d of %d have 1, the lowest is %.4g", full, c.Count, lowest)
	}
	return c, nil
}
