package explorer

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
)

// shown is the number of rounds that a page lists.
const shown = 25

type roundsPage struct {
	Points      []Point
	Epochs      []query.EpochState
	Epoch       uint64
	Older       *uint64
	Newer       *uint64
	From, Until uint64
}

// rounds lists rounds of an epoch, 25 a page, by ?epoch= and ?before=.
func (s *Server) rounds(r *http.Request) (content, error) {
	epochs, err := known[[]query.EpochState](r.Context(), s.source, "/epochs")
	if err != nil {
		return content{}, err
	}
	if len(epochs) == 0 {
		return content{}, fmt.Errorf("%w: no epoch", errNotFound)
	}
	of := epochs[len(epochs)-1]
	if q := r.URL.Query().Get("epoch"); q != "" {
		epoch, err := number("epoch", q)
		if err != nil {
			return content{}, err
		}
		i := slices.IndexFunc(epochs, func(e query.EpochState) bool { return e.Epoch == epoch })
		if i < 0 {
			return content{}, fmt.Errorf("%w: epoch %d", errNotFound, epoch)
		}
		of = epochs[i]
	}
	until := of.Rounds
	if q := r.URL.Query().Get("before"); q != "" {
		x, err := number("before", q)
		if err != nil {
			return content{}, err
		}
		until = min(until, x)
	}
	b := roundsPage{Epochs: epochs, Epoch: of.Epoch, From: until - min(until, shown), Until: until}
	points := s.tail.known()
	for t := until; t > b.From; t-- {
		record, err := s.source.record(r.Context(), place{of.Epoch, t - 1})
		if err != nil {
			return content{}, err
		}
		p, ok := points[place{of.Epoch, t - 1}]
		if !ok {
			p = pointOf(record)
		}
		b.Points = append(b.Points, p)
	}
	if n := len(b.Points); n > 0 {
		at := s.source.times(r.Context(), b.Points[n-1].Height, b.Points[0].Height)
		for i := range b.Points {
			b.Points[i].At = at[b.Points[i].Height]
		}
	}
	if b.From > 0 {
		b.Older = &b.From
	}
	if until < of.Rounds {
		newer := min(until+shown, of.Rounds)
		b.Newer = &newer
	}
	return content{"rounds", "Rounds", b}, nil
}
