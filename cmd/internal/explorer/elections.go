package explorer

import (
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"

	"github.com/spdl/spdl/app/params"
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
func (s *Server) elections(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	points = slices.DeleteFunc(points, func(p chainview.Point) bool { return p.Epoch != status.Epoch })
	b := electionsPage{Term: running.Election.Term, Closed: newestFirst(points, shown), Rounds: len(points),
		Ranking: map[uint64][]uint32{}, Names: map[uint32]string{}, Leaders: leadingOf(points, all)}
	for _, st := range all {
		b.Names[st.Participant] = st.Moniker
	}
	if b.Open, err = s.lead(r.Context(), status); err != nil {
		return content{}, err
	}
	for _, p := range b.Closed {
		record, err := s.source.record(r.Context(), params.RoundID{Epoch: p.Epoch, Round: p.Round})
		if err != nil {
			return content{}, err
		}
		b.Ranking[p.Round] = record.Ranking
	}
	return content{"elections", "Elections", b}, nil
}

// leadingOf counts the turns of the participants that are active or had one.
func leadingOf(points []chainview.Point, all []chainview.Standing) []leading {
	led, failed := map[uint32]int{}, map[uint32]int{}
	for _, p := range points {
		led[p.Leader]++
		for _, who := range p.Passed {
			failed[who]++
		}
	}
	active := 0
	for _, st := range all {
		if st.Active {
			active++
		}
	}
	var out []leading
	for _, st := range all {
		l := leading{Standing: st, Closed: led[st.Participant], Failed: failed[st.Participant]}
		if !st.Active && l.Closed+l.Failed == 0 {
			continue
		}
		l.Share, l.Even = float64(l.Closed)/float64(max(1, len(points))), 1/float64(max(1, active))
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b leading) int { return b.Closed - a.Closed })
	return out
}
