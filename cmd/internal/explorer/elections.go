package explorer

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// election is the election in a closed round.
type election struct {
	Point
	Ranking []uint32
	Seed    string
	Outputs []uint32 // largest first
}

// elections shows who may lead the open round, and the VRF outputs of the last closed ones.
func (s *Server) elections(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	b := struct {
		Open   *query.Leader
		Term   uint64
		Closed []election
		Names  map[uint32]string
	}{Term: running.Election.Term, Names: map[uint32]string{}}
	if !status.Done {
		open, err := known[query.Leader](r.Context(), s.source, "/leader")
		var refusal *client.Refusal
		switch {
		case err == nil:
			b.Open = &open
		case !asRefusal(err, &refusal): // training finished between the queries
			return content{}, err
		}
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	for _, p := range people {
		b.Names[p.Index] = p.Moniker
	}
	for _, p := range newestFirst(points, shown) {
		record, err := s.source.record(r.Context(), place{p.Epoch, p.Round})
		if err != nil {
			return content{}, err
		}
		e := election{Point: p, Ranking: record.Ranking, Seed: hex.EncodeToString(record.Seed)}
		order := slices.Clone(record.Contributions)
		slices.SortStableFunc(order, func(a, c app.Contribution) int {
			return cmp.Compare(string(c.VrfOutput),
				string(a.VrfOutput))
		})
		for _, c := range order {
			e.Outputs = append(e.Outputs, c.Participant)
		}
		b.Closed = append(b.Closed, e)
	}
	return content{"elections", "Elections", b}, nil
}
