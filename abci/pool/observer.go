package pool

import (
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
)

// Patience bounds how long an honest node waits for others. Straggler is the wait for a participant
// or leader that is behind the others, and Whole the wait for N-f participants.
type Patience struct{ Straggler, Whole time.Duration }

// observer measures, on this node's clock, which participants and leaders are late in the open round.
// The gradient of this node's participant for the next round states the result, and a participant of
// which f+1 gradients say the same has a strike (SPEC O2). So the measure may be coarse, but an honest
// participant that a proposer or leader holds up must not be late by it: what counts is when a
// transaction reached this node, and not the block that has it. The pool's lock guards an observer.
type observer struct {
	patience Patience
	now      func() time.Time

	seesAll  bool                 // whether this node has seen the open round from its beginning
	began    time.Time            // the beginning of the open phase
	required []uint32             // the participants for which the phase waits
	arrived  []time.Time          // by participant, when the commitment or gradient for which the phase waits was there
	ready    time.Time            // when a leader could close the round; zero before
	views    []time.Time          // when each view opened
	led      map[uint32]time.Time // when the first aggregate of a view was there
	late     []uint32             // the late participants of the open round's ended phases

	last worker.Observed // of the round before the open one; empty if this node has not seen all of it
}

// begin begins a phase of the open round.
func (o *observer) begin(s *app.State) {
	o.began, o.required, o.arrived, o.ready = o.now(), nil, make([]time.Time, len(s.Participants)), time.Time{}
	o.views, o.led = nil, map[uint32]time.Time{}
	for i := range s.Participants {
		if index := uint32(i); s.Required(index) {
			o.required = append(o.required, index)
		}
	}
}

// look takes note of the pool's content after a change.
func (o *observer) look(v Snapshot) {
	now := o.now()
	for _, index := range v.senders {
		if int(index) < len(o.arrived) && o.arrived[index].IsZero() {
			o.arrived[index] = now
		}
	}
	if v.State.Committing() {
		return
	}
	next := int64(v.State.Height + 1)
	if o.ready.IsZero() && v.HasQuorum() && (v.Complete() || v.MayCloseShort(next)) {
		o.ready = now
	}
	for uint64(len(o.views)) <= min(v.State.OpenView(uint64(next)), uint64(len(v.State.Progress.Ranking))) {
		o.views = append(o.views, now)
	}
}

// end ends a phase: it takes note of the participants that were late in it. s is the last state of
// the phase. A participant was late if it came more than Straggler after the N-f first ones, or if it
// kept the others waiting for N-f: then its time runs from the beginning of a reveal phase, in which
// nobody computes, and else from the first N-2f arrivals, one of which at least is honest.
func (o *observer) end(s *app.State) {
	now, n, f := o.now(), s.Active(), s.F()
	times := slices.DeleteFunc(slices.Clone(o.arrived), time.Time.IsZero)
	slices.SortFunc(times, time.Time.Compare)
	since := func(t time.Time, arrivals int) time.Duration {
		if arrivals > len(times) {
			return 0
		}
		return t.Sub(times[arrivals-1])
	}
	for _, index := range o.required {
		t := o.arrived[index]
		if t.IsZero() {
			t = now
		}
		whole := since(t, n-2*f)
		if s.Progress.Revealing {
			whole = t.Sub(o.began)
		}
		if since(t, n-f) > o.patience.Straggler || whole > o.patience.Whole {
			o.late = append(o.late, index)
		}
	}
}

// close ends the open round, which r closed. s is the state before r.
func (o *observer) close(s *app.State, r *app.Record) {
	o.end(s)
	o.last = worker.Observed{}
	if o.seesAll && r != nil {
		slices.Sort(o.late)
		o.last = worker.Observed{Late: first(slices.Compact(o.late)), Failed: first(o.failed(r))}
	}
	o.late, o.seesAll = nil, true
}

// first returns as much of a list as a gradient may have.
func first(list []uint32) []uint32 { return list[:min(len(list), app.MaxObserved)] }

// failed lists the leaders that failed in the round of r, in increasing order: those with no
// aggregate twice Straggler after they could make one, and the one that closed the round without a
// participant whose gradient was there Straggler before the aggregate. An aggregate of a view that
// passed does not count: one of the view's f+1 proposers is honest, and would have taken a valid one.
func (o *observer) failed(r *app.Record) (out []uint32) {
	now := o.now()
	at := func(view uint32) time.Time {
		if t, ok := o.led[view]; ok {
			return t
		}
		return now
	}
	for view, opened := range o.views {
		if view > int(r.View) || view >= len(r.Ranking) || o.ready.IsZero() {
			break
		}
		if o.ready.After(opened) {
			opened = o.ready
		}
		end := at(uint32(view))
		if view < int(r.View) && view+1 < len(o.views) {
			end = o.views[view+1]
		}
		if end.Sub(opened) > 2*o.patience.Straggler {
			out = append(out, r.Ranking[view])
		}
	}
	in := make(map[uint32]bool, len(r.Contributions))
	for _, c := range r.Contributions {
		in[c.Participant] = true
	}
	for _, index := range o.required {
		if t := o.arrived[index]; !t.IsZero() && !in[index] && at(r.View).Sub(t) > o.patience.Straggler {
			out = append(out, r.Leader)
			break
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
