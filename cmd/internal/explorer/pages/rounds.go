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
func rounds(r *Request) Content {
	epochs := r.Epochs()
	if r.Err() != nil || len(epochs) == 0 {
		r.Fail(fmt.Errorf("%w: no epoch", chainview.ErrNotFound))
		return Content{}
	}
	of := epochs[len(epochs)-1]
	if q := r.Value("epoch"); q != "" {
		epoch := r.Number("epoch", q)
		i := slices.IndexFunc(epochs, func(e query.EpochState) bool { return e.Epoch == epoch })
		if i < 0 {
			r.Fail(fmt.Errorf("%w: epoch %d", chainview.ErrNotFound, epoch))
			return Content{}
		}
		of = epochs[i]
	}
	now, _ := r.Now()
	b := roundsPage{Epochs: epochs, Epoch: of.Epoch, Until: of.Rounds, Done: now.Status.Done,
		Trouble: r.Value("trouble") != ""}
	if q := r.Value("before"); q != "" {
		b.Until = min(b.Until, r.Number("before", q))
	}
	b.list(r, now.Known(), of.Epoch == epochs[len(epochs)-1].Epoch)
	r.date(b.Points)
	if b.From > 0 {
		b.Older = b.address(b.From)
	}
	if b.Until < of.Rounds {
		b.Newer = b.address(min(b.Until+shown, of.Rounds))
	}
	return Content{"rounds", "Rounds", b}
}

// list sets the points of a page and the place where it ends: after 25 points, or after the max number of rounds
// that a page reads. The members of an epoch are known if it is running.
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
	for b.From = b.Until; b.From > 0 && b.Until-b.From < searched && len(b.Points) < shown && r.Err() == nil; b.From-- {
		p, fresh := read(b.From-1), 0
		before := p
		if b.From > 1 {
			before = read(b.From - 2)
		}
		p.Missing, fresh = p.Absent(&before, people)
		p.Offend(offences)
		if !b.Trouble || len(p.Offenders)+len(p.Opposed)+len(p.Refused)+len(p.Passed)+fresh > 0 {
			b.Points = append(b.Points, p)
		}
	}
}

// date sets the times of the points. It requests the blocks from the first point to the last.
func (r *Request) date(points []chainview.Point) {
	n := len(points)
	if n == 0 {
		return
	}
	if points[0].Height-points[n-1].Height > searched { // with the filter on, points may be far apart
		for i := range points {
			points[i].At = r.TimeAt(points[i].Height)
		}
		return
	}
	at := r.Times(points[n-1].Height, points[0].Height)
	for i := range points {
		points[i].At = at[points[i].Height]
	}
}
