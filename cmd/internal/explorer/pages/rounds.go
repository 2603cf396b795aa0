package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// shown is the number of rounds that a page lists.
const shown = 25

type roundsPage struct {
	Points       []chainview.Point
	Epochs       []query.EpochState
	Epoch        uint64
	Done         bool   // the training of the running epoch
	From, Until  uint64 // the rounds that were read
	Older, Newer string // addresses
}

// address returns the address of the page whose newest round is the one before a number.
func (b roundsPage) address(before uint64) string {
	q := url.Values{"epoch": {strconv.FormatUint(b.Epoch, 10)}, "before": {strconv.FormatUint(before, 10)}}
	return "/rounds?" + q.Encode()
}

// rounds lists rounds of an epoch, 25 a page, by ?epoch= and ?before=.
func rounds(r *Request) Content {
	epochs := r.Epochs()
	if r.Err() != nil || len(epochs) == 0 {
		r.Fail(fmt.Errorf("%w: no epoch", chainview.ErrNotFound))
		return Content{}
	}
	running := epochs[len(epochs)-1].Epoch
	epoch := r.NumberOr("epoch", running)
	i := slices.IndexFunc(epochs, func(e query.EpochState) bool { return e.Epoch == epoch })
	if i < 0 {
		r.Fail(fmt.Errorf("%w: epoch %d", chainview.ErrNotFound, epoch))
		return Content{}
	}
	of := epochs[i]
	now, _ := r.Now()
	b := roundsPage{Epochs: epochs, Epoch: of.Epoch, Until: of.Rounds, Done: now.Status.Done}
	b.Until = min(b.Until, r.NumberOr("before", b.Until))
	b.list(r, now.Known(), epoch == running)
	r.date(b.Points)
	if b.From > 0 {
		b.Older = b.address(b.From)
	}
	if b.Until < of.Rounds {
		b.Newer = b.address(min(b.Until+shown, of.Rounds))
	}
	return Content{"rounds", "Rounds", b}
}

// list sets the points of a page and the place where it ends. The members of an epoch are known if it is running.
func (b *roundsPage) list(r *Request, known map[params.RoundID]chainview.Point, running bool) {
	people, offences := r.Participants(), r.Offences()
	if !running {
		people = nil
	}
	read := func(round uint64) chainview.Point {
		at := params.RoundID{Epoch: b.Epoch, Round: round}
		if p, ok := known[at]; ok {
			return p
		}
		return chainview.PointOf(r.Record(at))
	}
	for b.From = b.Until; b.From > 0 && len(b.Points) < shown && r.Err() == nil; b.From-- {
		p := read(b.From - 1)
		p.Missing = p.Absent(people)
		p.Offend(offences)
		b.Points = append(b.Points, p)
	}
}

// date sets the times of the points. It requests the blocks from the first point to the last.
func (r *Request) date(points []chainview.Point) {
	n := len(points)
	if n == 0 {
		return
	}
	at := r.Times(points[n-1].Height, points[0].Height)
	for i := range points {
		points[i].At = at[points[i].Height]
	}
}
