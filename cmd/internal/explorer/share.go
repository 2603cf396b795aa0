package explorer

import (
	"net"
	"sync"
)

// pageShare is the min number of connections that a client may have in addition to its streams. A
// browser opens six.
const pageShare = 16

// shared is a listener that gives no client more than a share of the connections. Otherwise a
// silent client could hold all connections and shut out all other clients.
type shared struct {
	net.Listener
	most int

	mu   sync.Mutex
	held map[string]int
}

// share returns a listener that limits each client to a quarter of the connections, or to its
// streams and pageShare more if that is larger. All users behind one proxy count as one client.
func share(l net.Listener, o Options) net.Listener {
	return &shared{Listener: l, most: max(o.MaxConnections/4, o.StreamsPerClient+pageShare), held: map[string]int{}}
}

// Accept closes a connection of a client that has its share.
func (s *shared) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		name := clientOf(c.RemoteAddr().String())
		if s.take(name) {
			return &heldConn{Conn: c, release: sync.OnceFunc(func() { s.release(name) })}, nil
		}
		_ = c.Close()
	}
}

func (s *shared) take(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] >= s.most {
		return false
	}
	s.held[name]++
	return true
}

func (s *shared) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name]--; s.held[name] <= 0 {
		delete(s.held, name)
	}
}

type heldConn struct {
	net.Conn
	release func()
}

func (c *heldConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
