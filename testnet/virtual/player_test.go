//go:build virtual

package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// patience is how long a net without faults may take to close a round at all nodes. CometBFT
// disconnects a silent peer after 45 s, and dials it again 5 s later; a node that was disconnected
// then fetches blocks.
const patience = 2 * time.Minute

// Outcome is the result of playing a history.
type Outcome struct {
	Took     time.Duration // the virtual time
	Height   uint64
	Faults   int
	Offences int
	tally
}

// play plays a history on a net that has not started. It must run in a bubble. The error names the
// first violated invariant, and the event after which it was violated.
func play(t *Net, h History) (o Outcome, err error) {
	start := time.Now()
	p := &player{Net: t, invariants: newInvariants(guilty(h))}
	defer func() {
		for _, end := range p.ends {
			end()
		}
		err = errors.Join(err, t.Close())
	}()
	for i := range t.nodes {
		if err := t.Start(i); err != nil {
			return o, err
		}
	}
	if err := p.progress(); err != nil {
		return o, fmt.Errorf("before the first event: %w", err)
	}
	for events := h.Events; len(events) > 0; {
		burst := events
		if i := slices.IndexFunc(events, func(e Event) bool { return e.Action == Progress }); i >= 0 {
			burst, events = events[:i+1], events[i+1:]
		} else {
			events = nil
		}
		if err := p.burst(burst); err != nil {
			return o, err
		}
		if err := p.progress(); err != nil {
			return o, err
		}
		for _, e := range burst {
			if e.Action != Progress && e.Action != Expect {
				o.Faults++
			}
		}
	}
	clear(p.journals)
	if err := p.check(t); err != nil {
		return o, fmt.Errorf("at the end: %w", err)
	}
	o.Took = time.Since(start)
	o.Height, _ = t.Lowest()
	if s := t.State(0); s != nil {
		o.Offences = len(s.Offences)
	}
	o.tally = p.best()
	return o, nil
}

// guilty returns the participants that may have offences on the chain.
func guilty(h History) (all []int) {
	for _, e := range h.Events {
		if e.Action == Twin || e.Action == Attack && (e.Name == "equivocate" || e.Name == "commit-twice") {
			all = append(all, e.Node)
		}
	}
	return all
}

// player plays a history.
type player struct {
	*Net
	*invariants
	since tally    // the best tally when the burst began
	ends  []func() // functions that end the adversaries of all bursts; each may be called twice
}

// best returns the tally of the longest chain that an honest node has.
func (p *player) best() (best tally) {
	for i, x := range p.tallies {
		if p.nodes[i].attack == "" && x.height > best.height {
			best = *x
		}
	}
	best.included = maps.Clone(best.included)
	return best
}

// expect returns an error if the blocks since the burst began are not within bounds.
func (p *player) expect(b Bounds) error {
	if err := errors.Join(p.check(p.Net), p.boundedHeap(len(p.nodes))); err != nil {
		return err
	}
	now := p.best()
	rounds := now.rounds - p.since.rounds
	if rounds < b.Rounds {
		return fmt.Errorf("%d rounds, want at least %d", rounds, b.Rounds)
	}
	if s := p.State(0); b.Offences > 0 && len(s.Offences) < b.Offences {
		return fmt.Errorf("%d offences, want at least %d", len(s.Offences), b.Offences)
	}
	if views := float64(now.views-p.since.views) / float64(rounds); b.Views > 0 && views > b.Views {
		return fmt.Errorf("%.2f views a round passed without an aggregate, want at most %g", views, b.Views)
	}
	for i, m := range p.nodes {
		if m.attack != "" || !m.app.Worker.Enabled || b.Missing == 0 {
			continue
		}
		in := now.included[uint32(i)] - p.since.included[uint32(i)]
		if missing := 1 - float64(in)/float64(rounds); missing > b.Missing {
			return fmt.Errorf("participant %d is missing in a share of %.2f of %d rounds, want at most %g", i, missing, rounds,
				b.Missing)
		}
	}
	return nil
}

// moment is when an event begins or ends.
type moment struct {
	at     time.Duration
	begins bool
	Event
	end *ending // ends an adversary; its two moments share it
}

// ending ends an adversary once it has begun.
type ending struct{ end func() }

// burst plays events whose times count from now, until all have ended.
func (p *player) burst(events []Event) error {
	var moments []*moment
	for _, e := range events {
		if e.Action == Twin || e.Action == Attack {
			continue // in force from the start
		}
		end := new(ending)
		moments = append(moments, &moment{at: e.At, begins: true, Event: e, end: end})
		if e.For > 0 || e.Action == Restart || e.Action == Kill {
			moments = append(moments, &moment{at: e.At + e.For, Event: e, end: end})
		}
	}
	slices.SortStableFunc(moments, func(a, b *moment) int { return cmp.Compare(a.at, b.at) })
	start := time.Now()
	p.since = p.best()
	for _, m := range moments {
		if err := p.wait(m.at - time.Since(start)); err != nil {
			return err
		}
		err := p.apply(m)
		if err == nil {
			err = p.check(p.Net)
		}
		if err != nil {
			what := "end"
			if m.begins {
				what = "begin"
			}
			height, _ := p.Lowest()
			return fmt.Errorf("height %d, %s of %q: %w", height, what, m.Event, err)
		}
	}
	return nil
}

// apply begins or ends an event.
func (p *player) apply(m *moment) error {
	switch m.Action {
	case Disconnect, Slow:
		return p.Disturb(m.Event, m.begins)
	case Pause:
		return p.pause(m)
	case Clock:
		return p.clock(m)
	case Disk:
		return p.disk(m)
	case Break:
		p.Break(m.Node, m.Peers)
	case Expect:
		if m.begins {
			return p.expect(m.Bounds)
		}
	case Adversary:
		p.adversary(m)
	case Restart, Kill:
		return p.restart(m)
	}
	return nil
}

// pause stops a node's consensus and cuts its links, or lets the node go on.
func (p *player) pause(m *moment) error {
	if m.begins {
		p.Pause(m.Node)
	} else {
		p.Resume(m.Node)
	}
	return p.Disturb(m.Event, m.begins)
}

// adversary begins or ends an adversary.
func (p *player) adversary(m *moment) {
	if !m.begins {
		m.end.end()
		return
	}
	m.end.end = sync.OnceFunc(p.Adversary(m.Event))
	p.ends = append(p.ends, m.end.end)
}

// restart stops or kills a node, or starts the node again if it does not run.
func (p *player) restart(m *moment) error {
	switch {
	case !m.begins && p.nodes[m.Node].running == nil:
		return p.Start(m.Node)
	case m.begins && m.Action == Kill:
		return p.Kill(m.Node)
	case m.begins:
		return p.Stop(m.Node)
	}
	return nil
}

// clock sets a node's clock ahead, or back to the right time. A node that has run for two minutes
// with a wrong clock must detect that.
func (p *player) clock(m *moment) error {
	if m.begins {
		p.SetClock(m.Node, m.By)
		return nil
	}
	defer p.SetClock(m.Node, 0)
	if m.For < 2*time.Minute || p.nodes[m.Node].running == nil {
		return nil
	}
	return p.seesClock(m.Node, m.By)
}

// disk makes a node's disk slow or full, or normal again. If the node has ended because of its
// disk, disk starts the node again.
func (p *player) disk(m *moment) error {
	n := p.nodes[m.Node]
	switch {
	case m.begins && m.Rule.Delay == 0:
		n.wasFull = true
		p.SetDisk(m.Node, full)
		return nil
	case m.begins:
		p.SetDisk(m.Node, m.Rule.Delay)
		return nil
	}
	if n.running != nil {
		synctest.Wait()
		if err := n.ended(); err != nil {
			return err
		}
	}
	p.SetDisk(m.Node, 0)
	if n.running == nil || !n.failed {
		return nil
	}
	return errors.Join(p.Kill(m.Node), p.Start(m.Node))
}

// wait lets virtual time pass. Every second it reconnects nodes that have lost each other.
func (p *player) wait(d time.Duration) error {
	for d > 0 {
		step := min(d, time.Second)
		time.Sleep(step)
		d -= step
		if err := p.Redial(); err != nil {
			return err
		}
	}
	return nil
}

// progress waits until every node has closed one round more than the most advanced node had closed
// at the call. Then it checks the invariants.
func (p *player) progress() error {
	var goal uint64
	for i := range p.nodes {
		if s := p.State(i); s != nil {
			goal = max(goal, s.Progress.Round+1)
		}
	}
	from := time.Now()
	for {
		height, round := p.Lowest()
		if height > 0 && round >= goal {
			break
		}
		if time.Since(from) > patience {
			return fmt.Errorf("no progress in %v: height %d, round %d, want round %d at all nodes", patience, height, round,
				goal)
		}
		if err := p.wait(time.Second); err != nil {
			return err
		}
	}
	if err := p.check(p.Net); err != nil {
		return err
	}
	return p.bounded(len(p.nodes))
}
