package admission

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"golang.org/x/time/rate"

	"github.com/spdl/spdl/internal/memo"
)

// errTooManyHandshakes is the error for a connection that the handshakeLimiter rejects.
var errTooManyHandshakes = errors.New("too many connections from addresses at which no member's node was")

const (
	// handshakeRate is the max number of handshakes per second with unknown addresses, on average, and handshakeBurst the
	// max number at once. CometBFT waits six seconds for a silent connection, so such connections occupy at most 6*10+50 =
	// 110 inbound places. A node has at least minInbound inbound places. The limit is needed because a handshake costs
	// half a millisecond of a core, and CometBFT allocates a peer's buffers before it asks the application whether to
	// admit the peer.
	handshakeRate, handshakeBurst = 10, 50
	// addressPause is the min time between two handshakes from one unknown IPv4 address or IPv6 /64
	// network, so that a few addresses cannot use up all handshakes.
	addressPause = 10 * time.Second
	// addressMemory is the time for which an address stays known, and maxAddresses the max number of known addresses.
	addressMemory, maxAddresses = 24 * time.Hour, 1 << 12
)

// handshakeLimiter limits handshakes from unknown addresses, so that members can always begin a handshake. An address
// is known if a trusted node has connected from it, or the host name of a persistent peer resolves to it. A known
// address proves nothing about the node behind it: admission still checks the node's id.
type handshakeLimiter struct {
	now func() time.Time

	mu           sync.Mutex
	trustedTimes map[string]time.Time // for each known address, the time of the last call of add

	strangerLimiter *rate.Limiter                // the rate of handshakes from unknown addresses
	strangerTimes   *memo.LRU[string, time.Time] // the time of the last handshake from each unknown address
}

func newHandshakeLimiter() *handshakeLimiter {
	return &handshakeLimiter{now: time.Now, trustedTimes: map[string]time.Time{},
		strangerTimes:   memo.NewLRU[string, time.Time](maxAddresses, nil),
		strangerLimiter: rate.NewLimiter(handshakeRate, handshakeBurst)}
}

// add records that the address ip is known. If there are maxAddresses known addresses, add first
// drops those that are older than addressMemory; if none is, it ignores the new address.
func (d *handshakeLimiter) add(ip string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if _, ok := d.trustedTimes[ip]; !ok && len(d.trustedTimes) >= maxAddresses {
		maps.DeleteFunc(d.trustedTimes, func(_ string, at time.Time) bool { return now.Sub(at) > addressMemory })
		if len(d.trustedTimes) >= maxAddresses {
			return
		}
	}
	d.trustedTimes[ip] = now
}

// admit returns nil if a connection from the given address (host:port) may begin its handshake, and
// errTooManyHandshakes if not.
func (d *handshakeLimiter) admit(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil // an address without a port, which CometBFT never passes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if at, ok := d.trustedTimes[host]; ok && now.Sub(at) <= addressMemory {
		return nil
	}
	place := network(host)
	if last, ok := d.strangerTimes.Get(place); ok && now.Sub(last) < addressPause || !d.strangerLimiter.AllowN(now, 1) {
		return errTooManyHandshakes
	}
	d.strangerTimes.Add(place, now)
	return nil
}

// network returns an IPv4 address unchanged. For an IPv6 address it returns the address's /64
// network, because one host may have all addresses of that network.
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

// addTrusted records the addresses of the trusted peers.
func (d *handshakeLimiter) addTrusted(peers []p2p.Peer, trusts func(p2p.ID) bool) {
	for _, p := range peers {
		if trusts(p.ID()) {
			d.add(p.RemoteIP().String())
		}
	}
}
