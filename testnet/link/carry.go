package link

import (
	"math"
	"math/rand/v2"
	"net"
	"time"
)

const (
	packet = 1460 // bytes of TCP in an Ethernet frame
	again  = 200 * time.Millisecond
	window = 64 // max pieces in flight, of up to piece bytes each; a sender with more waits
	piece  = 16 << 10
)

// sent is a piece of a stream that is in flight.
type sent struct {
	data []byte
	at   time.Time // when it was sent
}

// carry copies one direction of a connection under the rule of that direction. It closes both sides
// when one of them ends.
func (s *Switch) carry(src, dst net.Conn, from, to int) {
	way := make(chan sent, window)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer src.Close()
		defer dst.Close()
		s.deliver(way, dst, from, to)
	}()
	for {
		data := make([]byte, piece)
		n, err := src.Read(data)
		if n > 0 {
			select {
			case way <- sent{data[:n], time.Now()}:
			case <-ended:
				return
			}
		}
		if err != nil {
			break
		}
	}
	close(way)
	<-ended
}

// deliver writes each piece when it is due, in order. It returns when all pieces are written, when
// writing fails, or when the switch is closed.
func (s *Switch) deliver(way <-chan sent, dst net.Conn, from, to int) {
	var free time.Time // when the previous piece has passed
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for p := range way {
		r, ok := s.passable(from, to)
		if !ok {
			return
		}
		due := p.at.Add(r.Lag(len(p.data), random))
		if due.Before(free) {
			due = free
		}
		if r.Rate > 0 {
			due = due.Add(time.Duration(float64(len(p.data)) / float64(r.Rate) * float64(time.Second)))
		}
		free = due
		time.Sleep(time.Until(due))
		if _, ok := s.passable(from, to); !ok {
			return
		}
		if _, err := dst.Write(p.data); err != nil {
			return
		}
	}
}

// passable waits while the direction is cut, and returns its rule. It reports false once the switch is closed.
func (s *Switch) passable(from, to int) (Rule, bool) {
	for {
		r, changed, closed := s.rule(from, to)
		if !r.Cut || closed {
			return r, !closed
		}
		<-changed
	}
}

// Lag returns how long a piece of a number of bytes is in flight, with its random part. The rate of
// the link comes on top.
func (r Rule) Lag(bytes int, random *rand.Rand) time.Duration {
	d := r.Delay
	if r.Jitter > 0 {
		d += time.Duration(random.Int64N(int64(r.Jitter)))
	}
	if r.Loss > 0 {
		packets := float64((bytes + packet - 1) / packet)
		for random.Float64() > math.Pow(1-r.Loss, packets) { // at least one of them is lost, each time
			d += again + 2*r.Delay
			packets = 1
		}
	}
	return d
}
