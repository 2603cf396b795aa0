package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/stretchr/testify/require"
)

// dials is a switch that connects a peer at the second dial.
type dials struct {
	mu     sync.Mutex
	peers  *p2p.PeerSet
	dialed map[p2p.ID]int
	known  map[p2p.ID]p2p.Peer
	hangs  p2p.ID // the peer whose handshake takes hangTime
}

// known is a set of peers and of their addresses.
type known struct {
	peers []string
	mu    sync.Mutex
	ips   map[string]bool
}

func (k *known) Peers() []string { return k.peers }

func (k *known) AddAddress(ip string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ips[ip] = true
}

// hangTime is the max time of a dial and a handshake.
const hangTime = 23 * time.Second

func (d *dials) Peers() p2p.IPeerSet { return d.peers }

func (d *dials) DialPeerWithAddress(address *p2p.NetAddress) error {
	if address.ID == d.hangs {
		time.Sleep(hangTime)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dialed[address.ID]++
	if d.dialed[address.ID] < 2 || d.known[address.ID] == nil {
		return errors.New("refused")
	}
	return d.peers.Add(d.known[address.ID])
}

// TestRedial: a missing persistent peer is dialed until it is connected, and again after its
// connection is lost: at once if it had lasted. A peer that hangs in its handshake delays no other.
func TestRedial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := mock.NewPeer(nil)
		sw := &dials{peers: p2p.NewPeerSet(), dialed: map[p2p.ID]int{}, known: map[p2p.ID]p2p.Peer{peer.ID(): peer},
			hangs: p2p.ID(strings.Repeat("ab", p2p.IDByteLength))}
		ctx, cancel := context.WithCancel(t.Context())
		closes, done := newEarlyCloses(), make(chan struct{})
		peers := &known{ips: map[string]bool{}, peers: []string{string(sw.hangs) + "@127.0.0.1:2",
			string(peer.ID()) + "@127.0.0.1:1"}}
		go func() {
			redial(ctx, sw, peers, closes, log.NewNopLogger())
			close(done)
		}()
		dialed := func() int {
			synctest.Wait()
			sw.mu.Lock()
			defer sw.mu.Unlock()
			return sw.dialed[peer.ID()]
		}
		require.Zero(t, dialed(), "not at the same moment as the peer")
		for _, want := range []int{1, 2, 2, 2} {
			time.Sleep(redialInterval)
			require.Equal(t, want, dialed())
		}
		require.True(t, sw.peers.Has(peer.ID()))
		closes.AddPeer(peer)
		time.Sleep(redialInterval)
		sw.peers.Remove(peer)
		closes.RemovePeer(peer, io.EOF)
		time.Sleep(maxDialDelay)
		require.Equal(t, 3, dialed())
		cancel()
		<-done
		time.Sleep(hangTime)
		_ = peer.Stop()
	})
}

// TestNamesAreLookedUpAgain: a warning has the name that does not resolve, with the resolver's
// error, once. It has the name and not the number of a peer that does not answer.
func TestNamesAreLookedUpAgain(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route to it")
	}}
	_, err := net.DefaultResolver.LookupIP(t.Context(), "ip", "localhost") // makes net's channels outside of a bubble
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		id, other := strings.Repeat("ab", p2p.IDByteLength), strings.Repeat("cd", p2p.IDByteLength)
		sw := &dials{peers: p2p.NewPeerSet(), dialed: map[p2p.ID]int{}, known: map[p2p.ID]p2p.Peer{}}
		ctx, cancel := context.WithCancel(t.Context())
		peers := &known{peers: []string{id + "@a.spdl.test:1", other + "@localhost:1"}, ips: map[string]bool{}}
		go redial(ctx, sw, peers, newEarlyCloses(), log.NewTMLogger(log.NewSyncWriter(&b)))
		time.Sleep(10 * redialInterval)
		cancel()
		synctest.Wait()
		require.Equal(t, 1, strings.Count(b.String(), "persistent peers not connected"), b.String())
		require.Contains(t, b.String(), id+"@a.spdl.test:1 (no address),"+other+"@localhost:1")
		require.Contains(t, b.String(), "no route to it")
		require.Zero(t, sw.dialed[p2p.ID(id)])
		require.Positive(t, sw.dialed[p2p.ID(other)])
		require.Contains(t, peers.ips, "127.0.0.1", "its handshakes are not limited")
	})
}
