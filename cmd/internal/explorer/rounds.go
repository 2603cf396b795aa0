package explorer

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// shown is the number of rounds that a page lists. searched is the max number of rounds that it
// reads to find those with trouble.
const shown, searched = 25, 256

type roundsPage struct {
	Points       []chainview.Point
	Epochs       []query.EpochState
	Epoch        uint64
	Done         bool   // the training of the running epoch
	Trouble      bool   // only rounds with trouble
	From, Until  uint64 // the rounds that were read
	Older, Newer string // addresses
}

// address returns the address of the page whose newest round is the one before a number.
func (b roundsPage) address(before uint64) string {
	q := url.Values{"epoch": {strconv.FormatUint(b.Epoch, 10)}, "before": {strconv.FormatUint(before, 10)}}
	if b.Trouble {
		q.Set("trouble", "1")
	}
	return "/rounds?" + q.Encode()
}

// Filter is the address of the page with the filter on if it is off, and off if it is on.
func (b roundsPage) Filter() string {
	q := url.Values{"epoch": {strconv.FormatUint(b.Epoch, 10)}}
	if !b.Trouble {
		q.Set("trouble", "1")
	}
	return "/rounds?" + q.Encode()
}

// rounds lists rounds of an epoch, 25 a page, by ?epoch= and ?before=. With ?trouble= it lists only
// rounds in which something was wrong.
func (s *Server) rounds(r *http.Request) (content, error) {
	epochs, err := known[[]query.EpochState](r.Context(), s.source, "/epochs")
	if err != nil {
		return content{}, err
	}
	if len(epochs) == 0 {
		return content{}, fmt.Errorf("%w: no epoch", errNotFound)
	}
	of, err := epochAsked(r, epochs)
	if err != nil {
		return content{}, err
	}
	status, _, _, _ := s.tail.now()
	b := roundsPage{Epochs: epochs, Epoch: of.Epoch, Until: of.Rounds, Done: status.Done,
		Trouble: r.URL.Query().Get("trouble") != ""}
	if q := r.URL.Query().Get("before"); q != "" {
		x, err := number("before", q)
		if err != nil {
			return content{}, err
		}
		b.Until = min(b.Until, x)
	}
	if err := s.listRounds(r.Context(), &b); err != nil {
		return content{}, err
	}
	s.date(r.Context(), b.Points)
	if b.From > 0 {
		b.Older = b.address(b.From)
	}
	if b.Until < of.Rounds {
		b.Newer = b.address(min(b.Until+shown, of.Rounds))
	}
	return content{"rounds", "Rounds", b}, nil
}

// epochAsked returns the epoch in ?epoch=, by default the running epoch.
func epochAsked(r *http.Request, epochs []query.EpochState) (of query.EpochState, err error) {
	q := r.URL.Query().Get("epoch")
	if q == "" {
		return epochs[len(epochs)-1], nil
	}
	epoch, err := number("epoch", q)
	if err != nil {
		return of, err
	}
	i := slices.IndexFunc(epochs, func(e query.EpochState) bool { return e.Epoch == epoch })
	if i < 0 {
		return of, fmt.Errorf("%w: epoch %d", errNotFound, epoch)
	}
	return epochs[i], nil
}

// listRounds sets the points of a page and the place where it ends: after 25 points, or after the
// max number of rounds that a page reads.
func (s *Server) listRounds(ctx context.Context, b *roundsPage) error {
	people, err := s.source.participants(ctx)
	if err != nil {
		return err
	}
	if b.Epoch != b.Epochs[len(b.Epochs)-1].Epoch {
		people = nil // the members of that epoch are not known
	}
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return err
	}
	points := s.tail.known()
	for b.From = b.Until; b.From > 0 && b.Until-b.From < searched && len(b.Points) < shown; b.From-- {
		p, err := s.pointAt(ctx, points, params.RoundID{Epoch: b.Epoch, Round: b.From - 1})
		if err != nil {
			return err
		}
		before := p
		if b.From > 1 {
			if before, err = s.pointAt(ctx, points, params.RoundID{Epoch: b.Epoch, Round: b.From - 2}); err != nil {
				return err
			}
		}
		fresh := 0
		p.Missing, fresh = p.Absent(&before, people)
		p.Offend(offences)
		if b.Trouble && len(p.Offenders)+len(p.Opposed)+len(p.Refused)+len(p.Passed)+fresh == 0 {
			continue
		}
		b.Points = append(b.Points, p)
	}
	return nil
}

// pointAt returns a closed round, from the known points or else from its record.
func (s *Server) pointAt(ctx context.Context, known map[params.RoundID]chainview.Point, at params.RoundID) (chainview.Point, error) {
	if p, ok := known[at]; ok {
		return p, nil
	}
	record, err := s.source.record(ctx, at)
	if err != nil {
		return chainview.Point{}, err
	}
	return chainview.PointOf(record), nil
}

// date sets the times of the points. It requests the blocks from the first point to the last.
func (s *Server) date(ctx context.Context, points []chainview.Point) {
	n := len(points)
	if n == 0 {
		return
	}
	if points[0].Height-points[n-1].Height > searched { // with the filter on, points may be far apart
		for i := range points {
			points[i].At = s.source.times(ctx, points[i].Height, points[i].Height)[points[i].Height]
		}
		return
	}
	at := s.source.times(ctx, points[n-1].Height, points[0].Height)
	for i := range points {
		points[i].At = at[points[i].Height]
	}
}
