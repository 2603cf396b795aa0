package network

import (
	"context"
	"errors"
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
}

func (d *dials) Peers() p2p.IPeerSet { return d.peers }

func (d *dials) DialPeerWithAddress(address *p2p.NetAddress) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dialed[address.ID]++
	if d.dialed[address.ID] < 2 {
		return errors.New("refused")
	}
	return d.peers.Add(d.known[address.ID])
}

// TestRedial: a missing persistent peer is dialed until it is connected, and again after its
// connection is lost. An entry that is not an address is left out.
func TestRedial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := mock.NewPeer(nil)
		sw := &dials{peers: p2p.NewPeerSet(), dialed: map[p2p.ID]int{}, known: map[p2p.ID]p2p.Peer{peer.ID(): peer}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			redial(ctx, sw, "nobody, "+string(peer.ID())+"@127.0.0.1:1", newEarlyCloses(), log.NewNopLogger())
			close(done)
		}()
		dialed := func() int {
			synctest.Wait()
			sw.mu.Lock()
			defer sw.mu.Unlock()
			return sw.dialed[peer.ID()]
		}
		for _, want := range []int{1, 2, 2, 2} {
			time.Sleep(redialInterval)
			require.Equal(t, want, dialed())
		}
		require.True(t, sw.peers.Has(peer.ID()))
		sw.peers.Remove(peer)
		time.Sleep(redialInterval)
		require.Equal(t, 3, dialed())
		cancel()
		<-done
		_ = peer.Stop()
	})
}
