package explorer

import (
	"context"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// standings returns the standings of all participants, by number, cached since the last look at the
// chain. Callers must not change them.
func (s *Server) standings(ctx context.Context) ([]chainview.Standing, error) {
	all, err := s.source.answers.get(ctx, s.source.looks.Load(), "standings", func() (any, error) { return s.judged(ctx) })
	out, _ := all.([]chainview.Standing)
	return out, err
}

// judged computes the standings.
func (s *Server) judged(ctx context.Context) ([]chainview.Standing, error) {
	status, _, points, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return nil, err
	}
	return chainview.Standings(people, offences, points, status.Epoch), nil
}
