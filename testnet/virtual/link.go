package virtual

import (
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Link is a connection between two nodes in memory, as a pair of ends.
type Link struct {
	A, B net.Conn
	to   [2]*stream // what A reads, and what B reads
}

// NewLink returns a link whose bytes arrive after a delay. The nodes have the two addresses.
func NewLink(delay time.Duration, a, b net.Addr) *Link {
	toA, toB := newStream(delay), newStream(delay)
	return &Link{
		A:  &end{in: toA, out: toB, local: a, remote: b},
		B:  &end{in: toB, out: toA, local: b, remote: a},
		to: [2]*stream{toA, toB},
	}
}

// Hold stops the link in both directions until Release: bytes that are sent wait, as those of a TCP
// connection over a cut line do.
func (l *Link) Hold() {
	for _, s := range l.to {
		s.hold(true)
	}
}

// Release ends Hold.
func (l *Link) Release() {
	for _, s := range l.to {
		s.hold(false)
	}
}

// Close breaks the connection.
func (l *Link) Close() { _ = l.A.Close() }

// chunk is bytes of one write, with the time at which they arrive.
type chunk struct {
	at   time.Time
	data []byte
}

// stream is one direction of a link.
type stream struct {
	delay time.Duration

	mu      sync.Mutex
	chunks  []chunk
	held    bool
	closed  bool
	changed chan struct{} // closed and replaced at each change
}

func newStream(delay time.Duration) *stream {
	return &stream{delay: delay, changed: make(chan struct{})}
}

// change calls f with the lock and wakes the reader.
func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) hold(held bool) { s.change(func() { s.held = held }) }

// next copies bytes that have arrived to b, or returns how long the reader must wait for a change or
// for the next chunk; -1 means until a change.
func (s *stream) next(b []byte) (n int, changed <-chan struct{}, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, nil, 0, io.EOF
	case s.held || len(s.chunks) == 0:
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
	return n, nil, 0, nil
}

// end is one end of a link. Its deadlines do nothing: a node that hangs is seen by its peers' pings.
type end struct {
	in, out       *stream
	local, remote net.Addr
}

// Read blocks until bytes arrive or the link is closed.
func (e *end) Read(b []byte) (int, error) {
	for {
		n, changed, wait, err := e.in.next(b)
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

// Write never blocks.
func (e *end) Write(b []byte) (int, error) {
	closed := false
	e.out.change(func() {
		if closed = e.out.closed; !closed {
			e.out.chunks = append(e.out.chunks, chunk{time.Now().Add(e.out.delay), slices.Clone(b)})
		}
	})
	if closed {
		return 0, net.ErrClosed
	}
	return len(b), nil
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
