package explorer

import (
	"math"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// keptGuests is the max number of clients whose rates are remembered. At worst, a forgotten client gets a
// full bucket again.
const keptGuests = 10_000

// pageShare is the min number of connections that a client may have in addition to its streams. A
// browser opens six.
const pageShare = 16

// clientOf returns the name of the client at a remote address: the IPv4 address or the IPv6 /64.
func clientOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// allow takes a token from a client's bucket, and reports whether there was one.
func (s *Server) allow(client string) bool {
	bucket, err := s.buckets.Get(client, func() (*rate.Limiter, error) {
		return rate.NewLimiter(rate.Limit(s.options.Rate), s.options.Burst), nil
	})
	return err == nil && bucket.Allow()
}

// slots limits what is open at the same time: of one client, and of all.
type slots struct {
	each, all int

	mu   sync.Mutex
	open int
	held map[string]int // by client
}

func newSlots(each, all int) *slots { return &slots{each: each, all: all, held: map[string]int{}} }

// enter takes a slot for a client if there is one, and leave gives it back.
func (p *slots) enter(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[client] >= p.each || p.open >= p.all {
		return false
	}
	p.held[client]++
	p.open++
	return true
}

func (p *slots) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if p.held[client]--; p.held[client] == 0 {
		delete(p.held, client)
	}
}

// shared is a listener that gives no client more than a share of the connections. Otherwise a
// silent client could hold all connections and shut out all other clients.
type shared struct {
	net.Listener
	*slots
}

// share returns a listener that limits each client to a quarter of the connections, or to its
// streams and pageShare more if that is larger. All users behind one proxy count as one client.
func share(l net.Listener, o Options) net.Listener {
	return shared{l, newSlots(max(o.MaxConnections/4, o.StreamsPerClient+pageShare), math.MaxInt)}
}

// Accept closes a connection of a client that has its share.
func (s shared) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		name := clientOf(c.RemoteAddr().String())
		if s.enter(name) {
			return heldConn{c, sync.OnceFunc(func() { s.leave(name) })}, nil
		}
		_ = c.Close()
	}
}

type heldConn struct {
	net.Conn
	release func()
}

func (c heldConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
