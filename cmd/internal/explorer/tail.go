package explorer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Limits of the history, in rounds: the number that the tail reads when it begins, and the number
// that it keeps.
const firstPoints, keptPoints = 256, 1024

// tail follows the chain on behalf of all readers.
type tail struct {
	source    *source
	evaluator Evaluator // may be nil
	log       func(string, ...any)

	mu      sync.Mutex
	status  query.Status
	params  params.Params
	begun   bool
	failure error // why the last look failed
	points  []chainview.Point
	readers map[chan []byte]struct{}
	beyond  *uint64 // the epoch whose models the evaluator cannot measure
	unknown string  // why the last attempt to measure a model failed, "" if it succeeded
	scored  []byte  // events of the models measured since the last push
	counted time.Time
	moved   time.Time // when the height last moved, as the explorer saw it
	stands  bool      // the readers know that the chain waits for a block

	before     *params.Params // of the epoch before, nil if the explorer has not seen it
	newest     *model.Eval    // of the newest model that was measured, nil for none
	measuredAt params.RoundID // after which round

	epoch, next uint64 // the round to read next
}

// pageAge is the max age of a cached answer while no block is made: the node may report other
// things about itself in the meantime.
const pageAge = time.Second

func newTail(s *source, e Evaluator, log func(string, ...any)) *tail {
	return &tail{source: s, evaluator: e, log: log, readers: map[chan []byte]struct{}{}}
}

// run looks at the chain until ctx is done.
func (t *tail) run(ctx context.Context, poll time.Duration) {
	var evaluating sync.WaitGroup
	defer evaluating.Wait()
	evaluating.Go(func() { t.evaluating(ctx, poll) })
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := t.look(ctx)
		if ctx.Err() == nil {
			t.lost(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lost records why the node does not answer, or nil if it answers, and tells the readers if that
// has changed.
func (t *tail) lost(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := (err == nil) != (t.failure == nil)
	t.failure = err
	if !changed {
		return
	}
	t.source.looks.Add(1) // pages show whether the node answers
	if err != nil {
		t.log("node does not answer", "err", err)
	}
	t.tell(event("node", map[string]bool{"lost": err != nil}))
}

// isLost reports whether the node did not answer the last look.
func (t *tail) isLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure != nil
}

// look reads the new rounds. If an unforeseen answer of the node causes a panic, it returns an
// error, because the explorer may run in the node's process.
func (t *tail) look(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	status, err := t.source.status(ctx)
	if err != nil {
		return err
	}
	if err := t.turn(ctx, status); err != nil {
		return err
	}
	var fresh []chainview.Point
	for t.epoch < status.Epoch || t.next < status.Round {
		r, err := t.source.record(ctx, params.RoundID{Epoch: t.epoch, Round: t.next})
		if absent(err) && t.epoch < status.Epoch { // the epoch ended before
			t.epoch, t.next = t.epoch+1, 0
			continue
		}
		if err != nil {
			return err
		}
		p := chainview.PointOf(r)
		if t.epoch == status.Epoch && t.next+1 == status.Round {
			p.Epsilon = status.Epsilon
		} else {
			p.Epsilon = t.source.epsilonAt(ctx, r.Height)
		}
		t.next++
		fresh = append(fresh, p)
		if len(fresh) == firstPoints { // show these before reading the remaining ones
			break
		}
	}
	t.refusals(ctx, fresh)
	t.keep(status, fresh)
	return nil
}

// turn begins the history, and begins it again if the node serves another chain or a lower height.
// At a new epoch it reads the parameters.
func (t *tail) turn(ctx context.Context, status query.Status) error {
	t.mu.Lock()
	last, begun := t.status, t.begun
	t.mu.Unlock()
	another := begun && (last.ChainID != status.ChainID || status.Height < last.Height || status.Epoch < last.Epoch)
	if begun && !another && last.Epoch == status.Epoch {
		return nil
	}
	running, err := ask[params.Params](ctx, t.source, "/params")
	if err != nil {
		return err
	}
	if another {
		t.source.forget()
	}
	if !begun || another {
		return t.begin(ctx, status, running)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = nil
	if last.Epoch+1 == status.Epoch {
		was := t.params
		t.before = &was
	}
	t.params = running
	return nil
}

// begin begins the history with the last rounds of the running epoch.
func (t *tail) begin(ctx context.Context, status query.Status, running params.Params) error {
	t.epoch, t.next = status.Epoch, status.Round
	past, err := t.past(ctx, status, running)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before, t.params, t.begun = nil, running, true
	t.status, t.points, t.newest, t.moved = status, past, nil, time.Now()
	t.source.looks.Add(1)
	return nil
}

// past reads the last rounds of the running epoch, with the largest epsilon spent by the end of
// each round.
func (t *tail) past(ctx context.Context, status query.Status, running params.Params) ([]chainview.Point, error) {
	people, closed, ok, err := t.source.ledger(ctx)
	if err != nil {
		return nil, err
	}
	from := status.Round - min(status.Round, firstPoints)
	records := make([]*app.Record, 0, firstPoints)
	points := make([]chainview.Point, 0, firstPoints)
	for round := from; round < status.Round; round++ {
		r, err := t.source.record(ctx, params.RoundID{Epoch: status.Epoch, Round: round})
		if err != nil {
			return nil, err
		}
		records, points = append(records, r), append(points, chainview.PointOf(r))
	}
	t.refusals(ctx, points)
	if ok && closed == (params.RoundID{Epoch: status.Epoch, Round: status.Round}) && status.Epsilon != nil {
		for i, epsilon := range chainview.SpentBy(running.Privacy, people, records) {
			points[i].Epsilon = epsilon
		}
	}
	return points, nil
}

// keep adds points and tells the readers.
func (t *tail) keep(status query.Status, fresh []chainview.Point) {
	t.mu.Lock()
	defer t.mu.Unlock()
	moved := status.Height != t.status.Height || status.Pending != t.status.Pending || len(fresh)+len(t.scored) > 0
	if status.Height != t.status.Height {
		t.moved = time.Now()
	}
	t.status = status
	if stands := t.overdue(); stands != t.stands {
		t.stands, moved = stands, true
	}
	t.points = append(t.points, fresh...)
	if over := len(t.points) - keptPoints; over > 0 {
		t.points = append([]chainview.Point(nil), t.points[over:]...)
	}
	if moved || time.Since(t.counted) > pageAge {
		t.counted = time.Now()
		t.source.looks.Add(1)
	}
	scored := t.scored
	t.scored = nil
	if !moved || len(t.readers) == 0 {
		return
	}
	var news []byte // encoded once for all readers
	for _, p := range fresh {
		news = append(news, event("round", p.Brief(usualPeople))...)
	}
	news = append(news, scored...)
	t.tell(append(news, said(status)...))
}

// overdue reports whether a training waits for a block. The caller holds the lock.
func (t *tail) overdue() bool { return !t.status.Done && time.Since(t.moved) > client.Overdue }

// waits is overdue for callers without the lock, and false before the first look.
func (t *tail) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.moved.IsZero() && t.overdue()
}

// known returns the points by round.
func (t *tail) known() map[params.RoundID]chainview.Point {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[params.RoundID]chainview.Point, len(t.points))
	for _, p := range t.points {
		out[params.RoundID{Epoch: p.Epoch, Round: p.Round}] = p
	}
	return out
}

// now returns the current history. Callers must not change the points.
func (t *tail) now() (status query.Status, running params.Params, points []chainview.Point, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		err = errNotYet
		if t.failure != nil {
			err = t.failure
		}
	}
	return t.status, t.params, append([]chainview.Point(nil), t.points...), err
}
