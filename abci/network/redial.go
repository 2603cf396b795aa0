package network

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
)

const (
	// redialInterval is the time between two attempts to connect to a missing peer.
	redialInterval = 5 * time.Second
	// maxDialDelay bounds the random wait before a dial. Two nodes that dial each other at the same
	// moment could close both connections as duplicates.
	maxDialDelay = 3 * time.Second
	// lookUpTimeout bounds the look-up of a name: the time of two attempts of the resolver.
	lookUpTimeout = 10 * time.Second
	// maxDialed is the max number of addresses of one name that count.
	maxDialed = 3
	// missingGrace is the time after the start in which a peer that does not answer is not reported,
	// because nodes that start together wait for each other.
	missingGrace = 15 * time.Second
)

// dialer is the part of CometBFT's switch that a redialer needs.
type dialer interface {
	Peers() p2p.IPeerSet
	DialPeerWithAddress(address *p2p.NetAddress) error
}

var _ dialer = (*p2p.Switch)(nil)

// peerSet is the part of the admission control that a redialer needs.
type peerSet interface {
	Peers() []string      // the peers to connect to, as id@host:port
	AddAddress(ip string) // an address to which a peer's name resolves
}

// redialer connects a node to its persistent peers, and warns when the set of missing peers has changed. It looks up a
// peer's name before every attempt. It dials in place of CometBFT v0.40.0, which gets no persistent peers, because
// CometBFT has three gaps. It looks names up once, at the start, and drops those that do not resolve. It never dials a
// peer again that closed the connection before the dial returned, for example because it does not admit this node yet.
// And after twenty failed attempts it waits up to hours between attempts.
type redialer struct {
	sw     dialer
	peers  peerSet
	closes *earlyCloses
	log    log.Logger

	mu      sync.Mutex
	dialing map[string]bool  // the peers of which an attempt runs; a slow one delays no other peer
	failed  map[string]error // the result of the last attempt, of the peers that it did not reach
}

// redial dials the missing peers every redialInterval, and at once after the end of a connection
// that had lasted, until ctx is done.
func redial(ctx context.Context, sw dialer, peers peerSet, closes *earlyCloses, logger log.Logger) {
	r := &redialer{sw: sw, peers: peers, closes: closes, log: logger, dialing: map[string]bool{},
		failed: map[string]error{}}
	warned := ""
	for began := time.Now(); ctx.Err() == nil; {
		missing, cause := r.dialMissing(ctx)
		now := strings.Join(missing, ",")
		if now != warned && (isUnresolved(cause) || time.Since(began) >= missingGrace) {
			warnMissing(logger, now, cause)
			warned = now
		}
		select {
		case <-ctx.Done():
		case <-closes.lost:
		case <-time.After(redialInterval):
		}
	}
}

// dialMissing begins to dial the peers that are not connected. It returns the peers that the last
// attempt did not reach, and the error of one of them: of a name that does not resolve, if there is one.
func (r *redialer) dialMissing(ctx context.Context) (missing []string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, peer := range r.peers.Peers() {
		id, _, _ := strings.Cut(strings.ToLower(peer), "@")
		if r.sw.Peers().Has(p2p.ID(id)) {
			delete(r.failed, peer)
			continue
		}
		switch err := r.failed[peer]; {
		case isUnresolved(err):
			missing, cause = append(missing, peer+" (no address)"), err
		case err != nil:
			missing, cause = append(missing, peer), cmp.Or(cause, err)
		}
		if !r.dialing[peer] {
			r.dialing[peer] = true
			go r.dial(ctx, peer, p2p.ID(id))
		}
	}
	return missing, cause
}

// dial makes an attempt to connect to a peer with the given id, and records the result.
func (r *redialer) dial(ctx context.Context, peer string, id p2p.ID) {
	err := r.connect(ctx, peer, id)
	switch {
	case err == nil:
	case isClosedByPeer(err):
		r.closes.note(id)
	case isUnreachable(err):
		r.closes.forget(id)
	}
	r.log.Debug("persistent peer dialed", "peer", peer, "err", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialing[peer], r.failed[peer] = false, err
}

// connect looks a peer's name up, and dials its addresses one after the other until the peer is connected.
func (r *redialer) connect(ctx context.Context, peer string, id p2p.ID) error {
	_, at, _ := strings.Cut(peer, "@")
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	look, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIP(look, "ip", host) // returns a number as it is
	ips = ips[:min(len(ips), maxDialed)]
	for _, ip := range ips {
		r.peers.AddAddress(ip.String())
	}
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(maxDialDelay)):
	}
	for _, ip := range ips {
		var address *p2p.NetAddress
		if address, err = p2p.NewNetAddressString(string(id) + "@" + net.JoinHostPort(ip.String(), port)); err != nil {
			return err
		}
		if ctx.Err() != nil || r.sw.Peers().Has(id) {
			return nil
		}
		if err = r.sw.DialPeerWithAddress(address); err == nil {
			return nil
		}
	}
	return err
}

// isUnresolved reports whether err is the error of a name without an address.
func isUnresolved(err error) bool { return errors.As(err, new(*net.DNSError)) }

// warnMissing warns about the listed persistent peers, which are not connected. cause is the error
// of one of them. If the list is empty, it logs that all persistent peers are connected again.
func warnMissing(logger log.Logger, missing string, cause error) {
	if missing == "" {
		logger.Info("all persistent peers are connected")
		return
	}
	logger.Warn("persistent peers not connected, they are looked up and dialed again: check their addresses and "+
		"firewalls, that they run, and that they admit this node (spdl show-node-id)", "peers", missing, "err", cause)
}
