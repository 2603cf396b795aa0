package reactor

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/metrics"
)

// TestCrowdHoldsAGradientBack: k nodes of members that have each delivered one transaction announce
// a gradient first and withhold it. The honest announcer is asked after O(log k) timeouts.
// Strangers delay nothing.
func TestCrowdHoldsAGradientBack(t *testing.T) {
	for _, strangers := range []bool{false, true} {
		for _, k := range []int{1, 3, 10, 40} {
			w, at := clocked()
			w.isTrusted = func(id p2p.ID) bool { return !strangers || id == "honest" }
			proves := func(id p2p.ID, i int) {
				w.hears(id, nth(i))
				w.finish(id, nth(i), true)
			}
			for i := range k {
				proves(p2p.ID(fmt.Sprint("adversary", i)), 1000+i)
			}
			proves("honest", 999)
			h, start := nth(1), *at
			var asked []wantTx
			for i := range k {
				asked = append(asked, w.hears(p2p.ID(fmt.Sprint("adversary", i)), h)...)
			}
			*at = at.Add(25 * time.Millisecond) // announcePause, which an honest node waits too
			asked = append(asked, w.hears("honest", h)...)
			for !slices.Contains(asked, wantTx{"honest", h}) {
				*at = at.Add(gossipTick)
				asked = append(asked, w.expire()...)
				require.Less(t, at.Sub(start), time.Hour)
			}
			t.Logf("strangers %t, %2d that kept their word once: the honest announcer is asked after %v", strangers, k,
				at.Sub(start))
			digits := 0
			for rest := k; rest > 0; rest /= 2 {
				digits++
			}
			bound := time.Duration(digits) * (requestTimeout + gossipTick)
			if strangers {
				bound = 25 * time.Millisecond
			}
			require.LessOrEqual(t, at.Sub(start), bound)

			w.finish("honest", h, true)
			proves("adversary0", 3000)
			if k > 0 && !strangers {
				require.Equal(t, rankUnproven, w.rankOf("adversary0", *at),
					"one good thing does not make up for one that was kept back")
			}
			for id, a := range w.peers {
				require.Zero(t, a.announcements, id)
			}
		}
	}
}

// TestCrowdDelaysParts: peers offer a block first and do not answer requests for the parts that a
// node cannot rebuild. The honest peer is asked after a number of pauses that is logarithmic in the
// number of these peers, and at once if these peers are strangers.
func TestCrowdDelaysParts(t *testing.T) {
	for _, strangers := range []bool{false, true} {
		for _, k := range []int{0, 1, 3, 10, 40} {
			synctest.Test(t, func(t *testing.T) {
				r := collecting(t, k+1, 2*partBytes)
				clear(r.held)
				honest := r.peers[k]
				r.isTrusted = func(id p2p.ID) bool { return !strangers || id == honest.ID() }
				start := time.Now()
				for _, p := range r.peers {
					r.offer(p, r.compact)
				}
				r.until(func() bool { return len(honest.wants()) > 0 })
				delay := time.Since(start)
				t.Logf("strangers %t, %2d before it: the honest peer is asked after %v", strangers, k, delay)
				bound := requestPause + 2*blockTick
				for rest := k; rest > 0 && !strangers; rest /= 2 {
					bound += answerPause + 2*blockTick
				}
				require.LessOrEqual(t, delay, bound)
			})
		}
	}
}

// TestCrowdOfClocks: strangers that lie about the time change nothing, and the clocks of two peers
// are too few for a warning about this node's clock.
func TestCrowdOfClocks(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40} {
		var out bytes.Buffer
		registry, now := prometheus.NewRegistry(), time.Unix(1_700_000_000, 0)
		c := NewClockReactor(metrics.New(registry, "c"), func(id p2p.ID) bool { return id[0] == 'm' })
		c.now = func() time.Time { return now }
		c.SetLogger(log.NewTMLogger(&out))
		c.onTime("m0", now.Add(time.Second))
		for i := range k {
			c.onTime(p2p.ID(fmt.Sprint("stranger", i)), now.Add(time.Hour))
		}
		require.Zero(t, offset(t, registry))
		c.onTime("m0", now.Add(time.Hour))
		c.onTime("m1", now.Add(time.Hour))
		require.Empty(t, out.String(), "two of them")
		c.onTime("m2", now.Add(time.Hour))
		require.Contains(t, out.String(), "this host's clock is")
	}
}

// TestCrowdOfAnnouncements: the announcements of all peers together are bounded. A peer outside the
// crowd can still announce the gradients of a round.
func TestCrowdOfAnnouncements(t *testing.T) {
	for _, k := range []int{1, 3, 10, 40} {
		w, _ := clocked()
		for i := range k {
			for j := range 2 * maxAnnounced {
				w.announce(p2p.ID(fmt.Sprint("adversary", i)), nth(i*2*maxAnnounced+j), false)
			}
		}
		require.LessOrEqual(t, len(w.requests), min(k*maxAnnounced, maxAllAnnounced+k*fairAnnounced))
		before := len(w.requests)
		for j := range fairAnnounced {
			w.announce("honest", nth(1<<30+j), false)
		}
		require.Len(t, w.requests, before+fairAnnounced, "k = %d", k)
	}
}

// TestFloodsEnd: a node that floods one peer stops when the peer disconnects.
func TestFloodsEnd(t *testing.T) {
	b := gossiping(t, 1)
	plain := b.join(&fake{Peer: mock.NewPeer(nil), height: 5, floods: true})
	require.Len(t, b.floodPeers, 1)
	b.RemovePeer(plain, nil)
	require.Empty(t, b.floodPeers, "each large gradient would be hashed six times from now on")
}
