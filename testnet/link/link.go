// Package link carries the connections between the nodes of a localnet and disturbs them: it delays, loses and holds
// back the traffic from one node to another. It works in user space on loopback, without namespaces or privileges.
package link

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Rule describes the disturbance of the traffic from one node to another. The zero value disturbs nothing.
type Rule struct {
	// Cut holds all traffic back, as a network does that drops every packet. The connections survive. Once the cut is
	// healed, the held data are delivered, unless a side has given up by then.
	Cut bool
	// Delay is added in one direction, with a random addition of up to Jitter.
	Delay, Jitter time.Duration
	// Loss is the share of packets that are lost. They are sent again after a timeout, and all
	// later data wait for them, as in TCP.
	Loss float64
	// Rate is the max number of bytes per second; 0 means no limit.
	Rate int
}

const maxLoss = 0.9

// Check returns an error if a rule cannot be applied.
func (r Rule) Check() error {
	switch {
	case r.Delay < 0 || r.Jitter < 0:
		return fmt.Errorf("delay %v and jitter %v, want at least 0", r.Delay, r.Jitter)
	case !(r.Loss >= 0 && r.Loss <= maxLoss):
		return fmt.Errorf("loss is %g, want 0 to %g: beyond that no connection lives", r.Loss, maxLoss)
	case r.Rate < 0:
		return fmt.Errorf("rate is %d bytes a second, want at least 0", r.Rate)
	}
	return nil
}

// Switch carries all connections between the nodes of a net.
type Switch struct {
	nodes     []string // their p2p addresses
	listeners [][]net.Listener

	mu      sync.Mutex
	rules   [][]Rule      // from, to
	changed chan struct{} // closed when a rule changes, and at the end
	closed  bool
	open    map[net.Conn]struct{}
	running sync.WaitGroup
}

// New listens at an address for every ordered pair of nodes. At first no rule disturbs anything.
func New(nodes []string) (*Switch, error) {
	s := &Switch{nodes: nodes, changed: make(chan struct{}), open: map[net.Conn]struct{}{}}
	for from := range nodes {
		s.listeners, s.rules = append(s.listeners, make([]net.Listener, len(nodes))),
			append(s.rules, make([]Rule, len(nodes)))
		for to := range nodes {
			if from == to {
				continue
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			s.listeners[from][to] = l
			s.running.Go(func() { s.accept(l, from, to) })
		}
	}
	return s, nil
}

// Address returns the address at which one node dials another.
func (s *Switch) Address(from, to int) string { return s.listeners[from][to].Addr().String() }

// Set changes the rule of the traffic from one node to another, also on open connections.
func (s *Switch) Set(from, to int, r Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules[from][to] = r
	if !s.closed {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// rule returns the current rule, and a channel that is closed when any rule changes.
func (s *Switch) rule(from, to int) (r Rule, changed <-chan struct{}, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules[from][to], s.changed, s.closed
}

// Close ends all connections.
func (s *Switch) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.changed)
	}
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	var err error
	for _, to := range s.listeners {
		for _, l := range to {
			if l != nil {
				if e := l.Close(); !errors.Is(e, net.ErrClosed) {
					err = errors.Join(err, e)
				}
			}
		}
	}
	s.running.Wait()
	return err
}

// accept accepts one node's connections to another until the switch is closed.
func (s *Switch) accept(l net.Listener, from, to int) {
	for {
		dialled, err := l.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.join(dialled, from, to) })
	}
}

// join carries a connection both ways until either side closes it.
func (s *Switch) join(dialled net.Conn, from, to int) {
	defer dialled.Close()
	target, err := net.Dial("tcp", s.nodes[to])
	if err != nil {
		return // the node is down: so is its link
	}
	defer target.Close()
	if !s.keep(dialled, target) {
		return
	}
	defer s.forget(dialled, target)
	var both sync.WaitGroup
	both.Go(func() { s.carry(dialled, target, from, to) })
	both.Go(func() { s.carry(target, dialled, to, from) })
	both.Wait()
}

// keep registers open connections, so that Close ends them. It reports false if the switch is closed.
func (s *Switch) keep(all ...net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range all {
		s.open[c] = struct{}{}
	}
	return !s.closed
}

func (s *Switch) forget(all ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range all {
		delete(s.open, c)
	}
}
