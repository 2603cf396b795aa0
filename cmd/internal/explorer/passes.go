package explorer

import (
	"context"
	"maps"
	"sync"
)

// passes counts how often each participant was passed over as leader, over all closed rounds of
// which the node has records, because a window would forget. Old rounds are read a few at a time.
type passes struct {
	mu    sync.Mutex
	by    map[uint32]int
	from  place // the first counted round
	whole bool  // no older record is left
}

// perLook is the number of old records read between two looks at the chain.
const perLook = 64

// begin starts with the points of the rounds before open.
func (p *passes) begin(points []Point, open place) {
	p.mu.Lock()
	p.by, p.whole, p.from = map[uint32]int{}, false, place{open.epoch, open.round - uint64(len(points))}
	p.mu.Unlock()
	p.add(points)
}

func (p *passes) add(points []Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range points {
		for _, who := range points[i].Passed {
			p.by[who]++
		}
	}
}

// totals returns the counts of the rounds read so far.
func (p *passes) totals() map[uint32]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.by)
}

// readBack reads some of the rounds before the counted ones, down to the first round or one that
// the node does not have. Only the tail calls it.
func (p *passes) readBack(ctx context.Context, s *source) {
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

// before reads the round before a place and moves the place there. It returns no point if there is
// none, and false if the node did not answer.
func before(ctx context.Context, s *source, at *place) ([]Point, bool) {
	if at.round == 0 {
		if at.epoch == 0 {
			return nil, true
		}
		rounds, err := s.roundsOf(ctx, at.epoch-1)
		if err != nil {
			return nil, false
		}
		*at = place{at.epoch - 1, rounds}
		if rounds == 0 {
			return before(ctx, s, at)
		}
	}
	record, err := s.record(ctx, place{at.epoch, at.round - 1})
	if err != nil {
		return nil, absent(err)
	}
	at.round--
	return []Point{pointOf(record)}, true
}
