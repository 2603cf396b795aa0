package pages

import (
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type electionsPage struct {
	Open    *query.Leader // nil if no round is open
	Term    uint64
	Closed  []chainview.Point // newest first
	Ranking map[uint64][]uint32
	Leaders []leading
	Rounds  int // the number of rounds in which the turns are counted
	Names   map[uint32]string
}

// leading counts the turns of a participant as leader.
type leading struct {
	chainview.Standing
	Closed, Failed int     // turns
	Share, Even    float64 // its share of the rounds, and the share if all participants led equally often
}

// elections shows who may lead the open round, who led the last rounds, and how often each led.
func elections(r *Request) Content {
	now, all := r.Course(), r.Standings()
	points := now.Running()
	b := electionsPage{Open: r.Leader(), Term: now.Params.Election.Term, Closed: newestFirst(points, shown),
		Rounds: len(points), Ranking: map[uint64][]uint32{}, Names: namesOf(all), Leaders: leadingOf(points, all)}
	for _, p := range b.Closed {
		b.Ranking[p.Round] = r.Record(p.ID()).Ranking
	}
	return Content{"elections", "Elections", b}
}

// leadingOf counts the turns of the participants that are active or had one.
func leadingOf(points []chainview.Point, all []chainview.Standing) []leading {
	led, failed, active := map[uint32]int{}, map[uint32]int{}, 0
	for _, p := range points {
		led[p.Leader]++
		for _, who := range p.Passed {
			failed[who]++
		}
	}
	for _, st := range all {
		if st.Active {
			active++
		}
	}
	var out []leading
	for _, st := range all {
		l := leading{Standing: st, Closed: led[st.Participant], Failed: failed[st.Participant]}
		l.Share, l.Even = float64(l.Closed)/float64(max(1, len(points))), 1/float64(max(1, active))
		if st.Active || l.Closed+l.Failed > 0 {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b leading) int { return b.Closed - a.Closed })
	return out
}
