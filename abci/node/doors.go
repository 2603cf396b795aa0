package node

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

// errDoor turns away a connection before its handshake.
var errDoor = errors.New("too many connections from addresses at which no member's node was")

const (
	// doorRate is how many connections a second may begin a handshake from addresses at which nobody is
	// known, and doorBurst how many at once. CometBFT waits six seconds for one that says nothing, so
	// that such connections take at most 200 of handshakes; and a handshake is half a millisecond of a
	// core.
	doorRate, doorBurst = 25, 50
	// doorMemory is for how long an address is known, and maxAddresses how many are.
	doorMemory, maxAddresses = 24 * time.Hour, 1 << 12
	// resolvePause is how often names of hosts are looked up.
	resolvePause = time.Minute
)

// doors keeps handshakes free for members where strangers are kept out: an address alone says nothing
// of whose it is, but those at which members' nodes are come first.
type doors struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]time.Time // when a member's node was last there
	spent float64              // of doorBurst
	last  time.Time
}

func newDoors() *doors { return &doors{now: time.Now, known: map[string]time.Time{}} }

// knows notes that a member's node is at an address.
func (d *doors) knows(ip string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if _, ok := d.known[ip]; !ok && len(d.known) >= maxAddresses {
		for ip, at := range d.known {
			if now.Sub(at) > doorMemory {
				delete(d.known, ip)
			}
		}
		if len(d.known) >= maxAddresses {
			return
		}
	}
	d.known[ip] = now
}

// opens returns nil if a connection with an address may begin its handshake.
func (d *doors) opens(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil // CometBFT knows no such address
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if at, ok := d.known[host]; ok && now.Sub(at) <= doorMemory {
		return nil
	}
	d.spent = max(0, d.spent-now.Sub(d.last).Seconds()*doorRate)
	d.last = now
	if d.spent > doorBurst-1 {
		return errDoor
	}
	d.spent++
	return nil
}

// meets notes where the peers are that are let in.
func (d *doors) meets(peers []p2p.Peer, trusts func(p2p.ID) bool) {
	for _, p := range peers {
		if trusts(p.ID()) {
			d.knows(p.RemoteIP().String())
		}
	}
}

// resolve looks up the hosts of a list of peers, at once and then again, until quit is closed: a
// member's node may move.
func (d *doors) resolve(peers string, quit <-chan struct{}) {
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
				d.knows(ip)
			}
		}
		select {
		case <-quit:
			return
		case <-time.After(resolvePause):
		}
	}
}
