package explorer

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"

	"github.com/spdl/spdl/abci/home"
)

// policy is the Content-Security-Policy of a page: it may load resources from this server and
// images from data: URLs, and has no inline scripts or styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// longest is the max number of bytes in a request's path and query.
const longest = 1024

// guard wraps every handler. It sets the headers, and rejects requests that do more than read.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			h.Set("Connection", "close") // the server need not read the body
			s.refuse(w, r, http.StatusMethodNotAllowed, "nothing is written here: GET only")
		case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
			h.Set("Connection", "close")
			s.refuse(w, r, http.StatusRequestEntityTooLarge, "a request has no body here")
		case len(r.URL.Path)+len(r.URL.RawQuery) > longest:
			s.refuse(w, r, http.StatusRequestURITooLong, "the address is too long")
		case !home.IsOwnHost(r.Host, s.options.HostNames()):
			s.refuse(w, r, http.StatusMisdirectedRequest, "this name is not served here: list it in api.hosts of app.toml, "+
				"or in --hosts")
		case !s.allow(clientOf(r.RemoteAddr)):
			h.Set("Retry-After", "1")
			s.refuse(w, r, http.StatusTooManyRequests, "too many requests")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// keptGuests is the max number of clients whose rates are remembered. At worst, a forgotten client gets a
// full bucket again.
const keptGuests = 10_000

// pageShare is the min number of connections that a client may have in addition to its streams. A browser opens six.
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
