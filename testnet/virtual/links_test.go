package virtual

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/spdl/spdl/testnet/link"
)

// window is the max number of bytes in flight in one direction of a link. A writer waits while the
// window is full, as with TCP.
const window = 1 << 20

// Link is a connection between two nodes in memory, as a pair of ends.
type Link struct {
	A, B     net.Conn
	toA, toB *stream
}

// NewLink returns a link without delay and loss between the addresses a and b. Set changes its
// rules. Jitter and loss are drawn from the seed.
func NewLink(seed uint64, a, b net.Addr) *Link {
	l := &Link{toA: newStream(seed), toB: newStream(seed + 1)}
	l.A = &end{in: l.toA, out: l.toB, local: a, remote: b}
	l.B = &end{in: l.toB, out: l.toA, local: b, remote: a}
	return l
}

// Set changes the rules of the two directions. Bytes that are in flight keep their time of arrival,
// but none arrives while the direction is cut.
func (l *Link) Set(toA, toB link.Rule) {
	l.toA.change(func() { l.toA.rule = toA })
	l.toB.change(func() { l.toB.rule = toB })
}

// Close breaks the connection.
func (l *Link) Close() { _ = l.A.Close() }

// chunk holds the bytes of one write, and the time at which they arrive.
type chunk struct {
	at   time.Time
	data []byte
}

// stream is one direction of a link.
type stream struct {
	mu      sync.Mutex
	random  *rand.Rand
	rule    link.Rule
	chunks  []chunk
	bytes   int       // the number of bytes in chunks
	free    time.Time // the time at which the last chunk arrives
	closed  bool
	changed chan struct{} // closed and replaced at each change
}

func newStream(seed uint64) *stream {
	return &stream{random: rand.New(rand.NewPCG(seed, 0)), changed: make(chan struct{})}
}

// change calls f with the lock and wakes the readers and writers.
func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// read copies arrived bytes to b. If there are none, it returns how long the reader must wait for
// the next chunk; -1 means until changed is closed.
func (s *stream) read(b []byte) (n int, changed <-chan struct{}, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, nil, 0, io.EOF
	case s.rule.Cut || len(s.chunks) == 0:
		return 0, s.changed, -1, nil
	}
	first := &s.chunks[0]
	if wait := time.Until(first.at); wait > 0 {
		return 0, s.changed, wait, nil
	}
	n = copy(b, first.data)
	if first.data = first.data[n:]; len(first.data) == 0 {
		s.chunks = s.chunks[1:]
	}
	full := s.bytes >= window
	if s.bytes -= n; full { // a writer may be waiting
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return n, nil, 0, nil
}

// write puts a chunk in flight. While the window is full, it returns false, and the channel to wait
// for.
func (s *stream) write(b []byte) (ok bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, nil, net.ErrClosed
	case s.bytes >= window:
		return false, s.changed, nil
	}
	at := time.Now().Add(s.rule.Lag(len(b), s.random))
	if at.Before(s.free) {
		at = s.free
	}
	if s.rule.Rate > 0 {
		at = at.Add(time.Duration(float64(len(b)) / float64(s.rule.Rate) * float64(time.Second)))
	}
	s.free = at
	s.chunks, s.bytes = append(s.chunks, chunk{at, slices.Clone(b)}), s.bytes+len(b)
	close(s.changed)
	s.changed = make(chan struct{})
	return true, nil, nil
}

// end is one end of a link. Its deadlines do nothing: peers detect a hanging node by their pings.
type end struct {
	in, out       *stream
	local, remote net.Addr
}

// Read blocks until bytes arrive or the link is closed.
func (e *end) Read(b []byte) (int, error) {
	for {
		n, changed, wait, err := e.in.read(b)
		switch {
		case n > 0 || err != nil:
			return n, err
		case wait < 0:
			<-changed
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
}

// Write blocks while the window is full.
func (e *end) Write(b []byte) (int, error) {
	for {
		ok, changed, err := e.out.write(b)
		switch {
		case err != nil:
			return 0, err
		case ok:
			return len(b), nil
		}
		<-changed
	}
}

// Close closes both directions.
func (e *end) Close() error {
	for _, s := range []*stream{e.in, e.out} {
		s.change(func() { s.closed = true })
	}
	return nil
}

func (e *end) LocalAddr() net.Addr              { return e.local }
func (e *end) RemoteAddr() net.Addr             { return e.remote }
func (e *end) SetDeadline(time.Time) error      { return nil }
func (e *end) SetReadDeadline(time.Time) error  { return nil }
func (e *end) SetWriteDeadline(time.Time) error { return nil }
