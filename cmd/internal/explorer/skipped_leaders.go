package explorer

import (
	"context"
	"maps"
	"sync"

	"github.com/spdl/spdl/app/params"
)

// skippedLeaders counts how often each participant was passed over as leader. It counts over all
// closed rounds whose records the node has, because a window of rounds would forget the earlier
// ones. It reads old rounds a few at a time.
type skippedLeaders struct {
	mu    sync.Mutex
	by    map[uint32]int
	from  params.RoundID // the first counted round
	whole bool           // no older record is left
}

// perLook is the number of old records read between two looks at the chain.
const perLook = 64

// begin starts with the points of the rounds before open.
func (p *skippedLeaders) begin(points []Point, open params.RoundID) {
	p.mu.Lock()
	p.by, p.whole = map[uint32]int{}, false
	p.from = params.RoundID{Epoch: open.Epoch, Round: open.Round - uint64(len(points))}
	p.mu.Unlock()
	p.add(points)
}

func (p *skippedLeaders) add(points []Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range points {
		for _, who := range points[i].Passed {
			p.by[who]++
		}
	}
}

// totals returns the counts of the rounds read so far.
func (p *skippedLeaders) totals() map[uint32]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.by)
}

// readBack reads some of the rounds before the counted ones, down to the first round or one that
// the node does not have. Only the tail calls it.
func (p *skippedLeaders) readBack(ctx context.Context, s *source) {
	for range perLook {
		p.mu.Lock()
		at, whole := p.from, p.whole
		p.mu.Unlock()
		if whole {
			return
		}
		points, ok := before(ctx, s, &at)
		if !ok {
			return
		}
		p.add(points)
		p.mu.Lock()
		p.from, p.whole = at, len(points) == 0
		p.mu.Unlock()
	}
}

// before reads the round before a place, and moves the place there. It returns no point if there is
// no such round, and false if the node did not answer.
func before(ctx context.Context, s *source, at *params.RoundID) ([]Point, bool) {
	if at.Round == 0 {
		if at.Epoch == 0 {
			return nil, true
		}
		rounds, err := s.roundsOf(ctx, at.Epoch-1)
		if err != nil {
			return nil, false
		}
		*at = params.RoundID{Epoch: at.Epoch - 1, Round: rounds}
		if rounds == 0 {
			return before(ctx, s, at)
		}
	}
	record, err := s.record(ctx, params.RoundID{Epoch: at.Epoch, Round: at.Round - 1})
	if err != nil {
		return nil, absent(err)
	}
	at.Round--
	return []Point{pointOf(record)}, true
}
