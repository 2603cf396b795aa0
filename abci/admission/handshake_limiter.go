package admission

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// errTooManyHandshakes rejects a connection before its handshake.
var errTooManyHandshakes = errors.New("too many connections from addresses at which no member's node was")

const (
	// Connections from unknown addresses may begin handshakeRate handshakes a second, and
	// handshakeBurst at once. CometBFT waits six seconds for a silent connection, so these
	// connections take at most 6*10+50 = 110 of maxHandshakes. A handshake costs half a millisecond
	// of a core, and CometBFT allocates the buffers of a peer before it asks whether to admit it.
	handshakeRate, handshakeBurst = 10, 50
	// addressPause is the minimum time between two such handshakes from one address, so that a
	// crowd behind a few addresses leaves handshakes to others.
	addressPause = 10 * time.Second
	// addressMemory is how long an address stays known, and maxAddresses the max number of known
	// addresses.
	addressMemory, maxAddresses = 24 * time.Hour, 1 << 12
	// resolvePause is how often names of hosts are looked up.
	resolvePause = time.Minute
)

// handshakeLimiter limits handshakes from unknown addresses, so that members always find a free
// one. It exempts the addresses at which trusted nodes were seen; an exempt address proves nothing
// about the node behind it.
type handshakeLimiter struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]time.Time // when a trusted node was last there

	unknown *rate.Limiter                     // of handshakes from other addresses
	recent  *simplelru.LRU[string, time.Time] // their last handshakes
}

func newHandshakeLimiter() *handshakeLimiter {
	recent, err := simplelru.NewLRU[string, time.Time](maxAddresses, nil)
	if err != nil {
		panic(err) // of a max below 1
	}
	return &handshakeLimiter{now: time.Now, known: map[string]time.Time{}, recent: recent,
		unknown: rate.NewLimiter(handshakeRate, handshakeBurst)}
}

// add notes that a trusted node is at an address.
func (d *handshakeLimiter) add(ip string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if _, ok := d.known[ip]; !ok && len(d.known) >= maxAddresses {
		for ip, at := range d.known {
			if now.Sub(at) > addressMemory {
				delete(d.known, ip)
			}
		}
		if len(d.known) >= maxAddresses {
			return
		}
	}
	d.known[ip] = now
}

// admit returns nil if a connection from an address may begin its handshake.
func (d *handshakeLimiter) admit(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil // CometBFT knows no such address
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if at, ok := d.known[host]; ok && now.Sub(at) <= addressMemory {
		return nil
	}
	place := network(host)
	if last, ok := d.recent.Get(place); ok && now.Sub(last) < addressPause || !d.unknown.AllowN(now, 1) {
		return errTooManyHandshakes
	}
	d.recent.Add(place, now)
	return nil
}

// network returns an IPv4 address, or the /64 of an IPv6 address, all of which one host may have.
func network(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}

// addTrusted notes the addresses of the trusted peers.
func (d *handshakeLimiter) addTrusted(peers []p2p.Peer, trusts func(p2p.ID) bool) {
	for _, p := range peers {
		if trusts(p.ID()) {
			d.add(p.RemoteIP().String())
		}
	}
}

// resolve looks up the hosts of a list of peers, at once and then every resolvePause, until quit is
// closed: a member's node may move.
func (d *handshakeLimiter) resolve(peers string, quit <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		for peer := range strings.SplitSeq(peers, ",") {
			_, address, _ := strings.Cut(strings.TrimSpace(peer), "@")
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				continue
			}
			ips, _ := net.DefaultResolver.LookupHost(ctx, host) // a host that has no address now may have one later
			for _, ip := range ips {
				d.add(ip)
			}
		}
		select {
		case <-quit:
			return
		case <-time.After(resolvePause):
		}
	}
}
