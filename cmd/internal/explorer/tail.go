package explorer

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// Point is a closed round in the history.
type Point struct {
	Epoch    uint64   `json:"epoch"`
	Round    uint64   `json:"round"`
	Height   uint64   `json:"height"`
	Leader   uint32   `json:"leader"`
	View     uint32   `json:"view"`
	Included int      `json:"included"`
	LeftOut  []uint32 `json:"left_out"` // included, and not selected by the rule
	Opposed  []uint32 `json:"opposed"`  // opposed to Delta by more than reputation.margin
	Refused  []uint32 `json:"refused"`  // not included, and the node did not admit a gradient that they signed
	Passed   []uint32 `json:"passed"`   // participants ranked before the leader that closed the round
	More     int      `json:"more"`     // participants that brief dropped from the lists
	Margin   int64    `json:"margin"`
	Accuracy *float64 `json:"accuracy"` // null if it was not measured
	Examples int      `json:"examples"` // test rows that the accuracy was measured on; 0 if it was not
	Loss     *float64 `json:"loss"`
	Epsilon  *float64 `json:"epsilon"` // the largest spend of a participant; null if unknown or without a guarantee

	At      time.Time `json:"-"` // time of the block; zero if the page does not need it
	Missing int       `json:"-"` // members without a gradient, if the page needs it

	included []uint32
	refusals []query.Rejection // of participants whose gradients are not included
	model    []byte            // hash
	delta    []byte            // hash
	measured bool              // the model was measured, or the evaluator cannot measure it
}

func pointOf(r *app.Record) Point {
	p := Point{
		Epoch: r.Epoch, Round: r.Round, Height: r.Height, Leader: r.Leader, View: r.View, Included: len(r.Contributions),
		Margin:  r.Margin,
		LeftOut: []uint32{}, Opposed: []uint32{}, Refused: []uint32{}, Passed: []uint32{}, model: r.ModelHash,
		delta: r.DeltaDigest,
	}
	for _, c := range r.Contributions {
		p.included = append(p.included, c.Participant)
		if !c.Selected {
			p.LeftOut = append(p.LeftOut, c.Participant)
		}
		if c.Opposed {
			p.Opposed = append(p.Opposed, c.Participant)
		}
	}
	for view, participant := range r.Ranking {
		if uint32(view) < r.View && participant != r.Leader {
			p.Passed = append(p.Passed, participant)
		}
	}
	return p
}

// brief returns the point as /v1 answers it: its lists are cut to the default length of an answer.
// The round's verdicts have all participants.
func (p Point) brief() Point {
	for _, list := range []*[]uint32{&p.LeftOut, &p.Opposed, &p.Refused, &p.Passed} {
		all := *list
		*list = first(all)
		p.More += len(all) - len(*list)
	}
	return p
}

// first returns the first participants of a list, up to the length of an answer without ?limit=.
func first(list []uint32) []uint32 { return list[:min(len(list), usualPeople)] }

// Limits of the history, in rounds: the number that is read when the tail begins, and the number
// that is cached.
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
	points  []Point
	readers map[chan []byte]struct{}
	beyond  *uint64 // the epoch whose models the evaluator cannot measure
	unknown string  // why the last attempt to measure a model failed, "" if it succeeded
	scored  []byte  // events of the models measured since the last push
	counted time.Time

	before     *params.Params // of the epoch before, nil if the explorer has not seen it
	newest     *model.Eval    // of the newest model that was measured, nil for none
	measuredAt params.RoundID // after which round

	epoch, next uint64 // the round to read next
	passed      skippedLeaders
}

// event returns the text of one event of a stream, "" if the body cannot be encoded.
func event(name string, body any) []byte {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, visible(raw, forJSON))
}

// said returns the event of a status.
func said(s query.Status) []byte {
	s.Ranking = first(s.Ranking)
	return event("status", s)
}

// pageAge is the max age of a cached answer while the chain stands still: what a node reports of
// itself may change.
const pageAge = time.Second

// queued is the max number of looks at the chain by which a reader may fall behind.
const queued = 32

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

// lost records why the node does not answer, nil if it does, and tells the readers if that has
// changed.
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

// isLost reports whether the node failed to answer the last look.
func (t *tail) isLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure != nil
}

// look reads the new rounds. It turns a panic, caused by an unforeseen answer of the node, into an
// error: the explorer may run in the node's process.
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
	var fresh []Point
	for t.epoch < status.Epoch || t.next < status.Round {
		r, err := t.source.record(ctx, params.RoundID{Epoch: t.epoch, Round: t.next})
		if absent(err) && t.epoch < status.Epoch { // the epoch ended before
			t.epoch, t.next = t.epoch+1, 0
			continue
		}
		if err != nil {
			return err
		}
		p := pointOf(r)
		if t.epoch == status.Epoch && t.next+1 == status.Round {
			p.Epsilon = status.Epsilon
		} else {
			p.Epsilon = t.source.epsilonAt(ctx, r.Height)
		}
		t.next++
		fresh = append(fresh, p)
		if len(fresh) == firstPoints { // show these before the rest is read
			break
		}
	}
	t.refusals(ctx, fresh)
	t.keep(status, fresh)
	t.passed.add(fresh)
	t.passed.readBack(ctx, t.source)
	return nil
}

// turn begins the history, and begins it again if the node serves another chain or a lower height.
// It reads the parameters of a new epoch.
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
	var past []Point
	if !begun || another {
		if another {
			t.source.forget()
		}
		t.epoch, t.next = status.Epoch, status.Round
		if past, err = t.past(ctx, status, running); err != nil {
			return err
		}
		t.passed.begin(past, params.RoundID{Epoch: status.Epoch, Round: status.Round})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = nil
	if begun && !another && last.Epoch+1 == status.Epoch {
		was := t.params
		t.before = &was
	}
	t.params, t.begun = running, true
	if !begun || another {
		t.status, t.points, t.newest = status, past, nil
		t.source.looks.Add(1)
	}
	return nil
}

// past reads the last rounds of the running epoch, with the largest epsilon spent by the end of
// each.
func (t *tail) past(ctx context.Context, status query.Status, running params.Params) ([]Point, error) {
	people, closed, ok, err := t.source.ledger(ctx)
	if err != nil {
		return nil, err
	}
	from := status.Round - min(status.Round, firstPoints)
	records := make([]*app.Record, 0, firstPoints)
	points := make([]Point, 0, firstPoints)
	for round := from; round < status.Round; round++ {
		r, err := t.source.record(ctx, params.RoundID{Epoch: status.Epoch, Round: round})
		if err != nil {
			return nil, err
		}
		records, points = append(records, r), append(points, pointOf(r))
	}
	t.refusals(ctx, points)
	if ok && closed == (params.RoundID{Epoch: status.Epoch, Round: status.Round}) && status.Epsilon != nil {
		for i, epsilon := range spentBy(running.Privacy, people, records) {
			points[i].Epsilon = epsilon
		}
	}
	return points, nil
}

// keep adds points and tells the readers.
func (t *tail) keep(status query.Status, fresh []Point) {
	t.mu.Lock()
	defer t.mu.Unlock()
	moved := status.Height != t.status.Height || status.Pending != t.status.Pending || len(fresh)+len(t.scored) > 0
	t.status = status
	t.points = append(t.points, fresh...)
	if over := len(t.points) - keptPoints; over > 0 {
		t.points = append([]Point(nil), t.points[over:]...)
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
		news = append(news, event("round", p.brief())...)
	}
	news = append(news, scored...)
	t.tell(append(news, said(status)...))
}

// tell sends events to all readers, and closes the streams of readers that are too far behind: they
// connect again and begin with the current history. The caller holds the lock.
func (t *tail) tell(news []byte) {
	for reader := range t.readers {
		select {
		case reader <- news:
		default:
			delete(t.readers, reader)
			close(reader)
		}
	}
}

// read begins a stream with the current status.
func (t *tail) read() (events <-chan []byte, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reader := make(chan []byte, queued)
	t.readers[reader] = struct{}{}
	if t.begun {
		reader <- said(t.status)
	}
	if t.failure != nil {
		reader <- event("node", map[string]bool{"lost": true})
	}
	return reader, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.readers, reader)
	}
}

// known returns the points by round.
func (t *tail) known() map[params.RoundID]Point {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[params.RoundID]Point, len(t.points))
	for _, p := range t.points {
		out[params.RoundID{Epoch: p.Epoch, Round: p.Round}] = p
	}
	return out
}

// now returns the current history. Callers must not change the points.
func (t *tail) now() (status query.Status, running params.Params, points []Point, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		err = errNotYet
		if t.failure != nil {
			err = t.failure
		}
	}
	return t.status, t.params, append([]Point(nil), t.points...), err
}
