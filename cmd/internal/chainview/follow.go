package chainview

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// A Course is what the last look at a chain found.
type Course struct {
	Status query.Status
	Params params.Params // of the running epoch
	Points []Point       // closed rounds, oldest first
}

// Running returns the points of the running epoch.
func (c Course) Running() []Point {
	return slices.DeleteFunc(slices.Clone(c.Points), func(p Point) bool { return p.Epoch != c.Status.Epoch })
}

// Known returns the points by round.
func (c Course) Known() map[params.RoundID]Point {
	out := make(map[params.RoundID]Point, len(c.Points))
	for _, p := range c.Points {
		out[p.ID()] = p
	}
	return out
}

// Now returns the current course. Before the first look it returns an error.
func (c *Chain) Now() (course Course, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		err = cmp.Or(c.failure, ErrNotYet)
	}
	course = c.course
	course.Points = slices.Clone(course.Points)
	return course, err
}

// Lost reports whether the node did not answer the last look.
func (c *Chain) Lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure != nil
}

// Waits reports whether the chain waits for a block. One whose training is over goes on, with governance.
func (c *Chain) Waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.moved.IsZero() && c.overdue()
}

// overdue is Waits. The caller holds the lock.
func (c *Chain) overdue() bool { return time.Since(c.moved) > client.Overdue }

// Follow looks at the chain until ctx is done.
func (c *Chain) Follow(ctx context.Context, poll time.Duration) {
	var evaluating sync.WaitGroup
	defer evaluating.Wait()
	evaluating.Go(func() { c.evaluating(ctx, poll) })
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		c.See(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// See looks at the chain. It records why the node does not answer, or that it answers, and tells the readers if that
// has changed.
func (c *Chain) See(ctx context.Context) {
	err := c.Look(ctx)
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := (err == nil) != (c.failure == nil)
	c.failure = err
	if !changed {
		return
	}
	c.looks.Add(1) // pages show whether the node answers
	if err != nil {
		c.options.Log("node does not answer", "err", err)
	}
	c.tell(c.options.Encode("node", map[string]bool{"lost": err != nil}))
}

// Look reads the new rounds. If an unforeseen answer of the node causes a panic, it returns an
// error, because the follower may run in the node's process.
func (c *Chain) Look(ctx context.Context) (err error) {
	defer query.Catch(&err)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r := c.Reader(ctx)
	status := fresh[query.Status](r, "/status")
	if c.turn(r, status); r.err != nil {
		return r.err
	}
	var points []Point
	for (c.epoch < status.Epoch || c.next < status.Round) && uint64(len(points)) < c.options.First {
		record := r.Record(params.RoundID{Epoch: c.epoch, Round: c.next})
		if Missing(r.err) && c.epoch < status.Epoch { // the epoch ended before
			r.err, c.epoch, c.next = nil, c.epoch+1, 0
			continue
		}
		if r.err != nil {
			break
		}
		p := PointOf(record)
		if c.next++; c.epoch == status.Epoch && c.next == status.Round {
			p.Epsilon = status.Epsilon
		} else {
			p.Epsilon = r.EpsilonAt(record.Height)
		}
		points = append(points, p)
	}
	if r.err == nil || len(points) > 0 { // the next look continues after these
		r.rejected(points)
		c.keep(status, points)
	}
	return r.err
}

// rejected marks the participants of points whose gradients the node rejected.
func (r *Reader) rejected(points []Point) {
	switch len(points) {
	case 0:
	case 1:
		reject(points, r.Rejections(points[0].ID().String()))
	default:
		reject(points, r.Rejections(""))
	}
}

// turn begins the course, and begins it again if the node serves another chain or a lower height.
// At a new epoch it reads the parameters.
func (c *Chain) turn(r *Reader, status query.Status) {
	c.mu.Lock()
	last, begun := c.course.Status, c.begun
	c.mu.Unlock()
	another := begun && (last.ChainID != status.ChainID || status.Height < last.Height || status.Epoch < last.Epoch)
	if r.err != nil || begun && !another && last.Epoch == status.Epoch {
		return
	}
	running := fresh[params.Params](r, "/params")
	if r.err != nil {
		return
	}
	if another {
		c.Forget()
	}
	if !begun || another {
		c.begin(r, status, running)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.course.Params = running
}

// begin begins the course with the last rounds of the running epoch.
func (c *Chain) begin(r *Reader, status query.Status, running params.Params) {
	c.epoch, c.next = status.Epoch, status.Round
	points := c.past(r, status, running)
	if r.err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.course = Course{Status: status, Params: running, Points: points}
	c.begun, c.newest, c.moved = true, nil, time.Now()
	c.looks.Add(1)
}

// past reads the last rounds of the running epoch, with the largest epsilon spent by the end of each round.
func (c *Chain) past(r *Reader, status query.Status, running params.Params) (points []Point) {
	people, closed, ok := r.Ledger()
	var records []*app.Record
	for round := status.Round; round > status.Round-min(status.Round, c.options.First) && r.err == nil; round-- {
		record := r.Record(params.RoundID{Epoch: status.Epoch, Round: round - 1})
		if r.err != nil {
			break
		}
		records, points = append(records, record), append(points, PointOf(record))
	}
	if Missing(r.err) { // a node after state sync has no earlier rounds
		r.err = nil
	}
	slices.Reverse(records)
	slices.Reverse(points)
	r.rejected(points)
	if ok && closed == (params.RoundID{Epoch: status.Epoch, Round: status.Round}) && status.Epsilon != nil {
		for i, epsilon := range SpentBy(running.Privacy, people, records) {
			points[i].Epsilon = epsilon
		}
	}
	return points
}

// pageAge is the max age of a cached answer while no block is made: the node may report other
// things about itself in the meantime.
const pageAge = time.Second

// keep adds points and tells the readers.
func (c *Chain) keep(status query.Status, fresh []Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.course.Status
	moved := status.Height != last.Height || status.Pending != last.Pending || len(fresh)+len(c.scored) > 0
	if status.Height != last.Height {
		c.moved = time.Now()
	}
	c.course.Status = status
	if stands := c.overdue(); stands != c.stands {
		c.stands, moved = stands, true
	}
	points := append(c.course.Points, fresh...)
	c.course.Points = slices.Clone(points[max(0, len(points)-keptPoints):])
	if moved || time.Since(c.counted) > pageAge {
		c.counted = time.Now()
		c.looks.Add(1)
	}
	scored := c.scored
	c.scored = nil
	if !moved || len(c.readers) == 0 {
		return
	}
	var news []byte // encoded once for all readers
	for _, p := range fresh {
		news = append(news, c.options.Encode("round", p)...)
	}
	news = append(news, scored...)
	c.tell(append(news, c.options.Encode("status", status)...))
}

// queued is the max number of looks at the chain by which a reader may fall behind.
const queued = 32

// tell sends events to all readers, and closes the streams of readers that are too far behind. Such
// readers connect again and begin with the current course. The caller holds the lock.
func (c *Chain) tell(news []byte) {
	for reader := range c.readers {
		select {
		case reader <- news:
		default:
			delete(c.readers, reader)
			close(reader)
		}
	}
}

// Subscribe begins a stream of events with the current status.
func (c *Chain) Subscribe() (events <-chan []byte, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reader := make(chan []byte, queued)
	c.readers[reader] = struct{}{}
	if c.begun {
		reader <- c.options.Encode("status", c.course.Status)
	}
	if c.failure != nil {
		reader <- c.options.Encode("node", map[string]bool{"lost": true})
	}
	return reader, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.readers, reader)
	}
}
