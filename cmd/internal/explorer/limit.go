package explorer

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// clients limits the requests and streams of each client. A client is an IPv4 address or an IPv6
// /64.
type clients struct {
	rate    rate.Limit
	burst   int
	streams int // max open streams of one client
	total   int // max open streams of all clients

	mu   sync.Mutex
	seen map[string]*guest
	open int
}

type guest struct {
	bucket  *rate.Limiter
	streams int
}

// keptGuests is the max number of remembered clients.
const keptGuests = 10_000

func newClients(o Options) *clients {
	return &clients{rate: rate.Limit(o.Rate), burst: o.Burst, streams: o.StreamsPerClient, total: o.MaxStreams,
		seen: map[string]*guest{}}
}

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

// guest returns the entry of a client. If there are too many entries, it drops one without a
// stream; at worst, that client gets a full bucket again. The caller holds the lock.
func (c *clients) guest(name string) *guest {
	if g := c.seen[name]; g != nil {
		return g
	}
	if len(c.seen) >= keptGuests {
		for other, g := range c.seen {
			if g.streams == 0 {
				delete(c.seen, other)
				break
			}
		}
	}
	g := &guest{bucket: rate.NewLimiter(c.rate, c.burst)}
	c.seen[name] = g
	return g
}

// allow takes a token from a client's bucket, and reports whether there was one.
func (c *clients) allow(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guest(name).bucket.Allow()
}

// enter opens a stream for a client, leave closes it.
func (c *clients) enter(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guest(name)
	if g.streams >= c.streams || c.open >= c.total {
		return false
	}
	g.streams++
	c.open++
	return true
}

func (c *clients) leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[name].streams--
	c.open--
}
