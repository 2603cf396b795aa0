package reactor

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"
)

// nth returns a distinct hash for each i.
func nth(i int) (h hash) {
	binary.BigEndian.PutUint64(h[:], uint64(i)+1)
	return h
}

// clocked is a scheduler with a clock that the test moves.
func clocked() (*requestScheduler, *time.Time) {
	w, at := newRequestScheduler(nil), time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	return w, &at
}

// hears records an announcement, and returns the requests that follow at once.
func (w *requestScheduler) hears(peer p2p.ID, h hash) []wantTx {
	w.announce(peer, h, false)
	return w.schedule([]hash{h})
}

// TestWantedAsksOneAtATime: the first announcer is asked, and another one if it sends nothing, has
// lost the transaction or has left. No peer is asked twice for one announcement.
func TestWantedAsksOneAtATime(t *testing.T) {
	w, at := clocked()
	h := nth(1)
	require.Equal(t, []wantTx{{"a", h}}, w.hears("a", h))
	require.Empty(t, w.hears("b", h))
	require.Empty(t, w.hears("a", h))
	require.Empty(t, w.hears("c", h))
	require.Empty(t, w.hears("d", h))
	*at = at.Add(requestTimeout)
	require.Empty(t, w.expire())
	*at = at.Add(1)
	require.Equal(t, []wantTx{{"b", h}, {"c", h}}, w.expire(), "a has sent nothing: two are asked")
	require.Equal(t, []wantTx{{"d", h}}, w.notFound("b", h))
	require.Empty(t, w.notFound("b", h), "it says so twice")
	require.Empty(t, w.removePeer("c"))
	*at = at.Add(requestTimeout + 1)
	require.Empty(t, w.expire(), "nobody is left")
	require.Empty(t, w.requests)
	require.Equal(t, []wantTx{{"a", h}}, w.hears("a", h), "it is announced again")
	w.finish("a", h, true)
	require.Empty(t, w.requests)
	for id, a := range w.peers {
		require.Zero(t, a.announcements, id)
	}
}

// TestWantedWaitsForWhatIsSent: a transaction that a peer pushes is requested from no peer until
// the push is overdue.
func TestWantedWaitsForWhatIsSent(t *testing.T) {
	w, at := clocked()
	h := nth(1)
	w.announce("a", h, true)
	require.Empty(t, w.schedule([]hash{h}))
	require.Empty(t, w.hears("b", h))
	*at = at.Add(requestTimeout + 1)
	require.Equal(t, []wantTx{{"b", h}}, w.expire())
	w.requeue(wantTx{"b", h})
	require.Equal(t, []wantTx{{"b", h}}, w.expire(), "the request could not be sent")
	w.notFound("b", h)
	require.Empty(t, w.requests)
}

// TestWantedIsPatientWithWhoDelivers: a request to a slow peer stays open while the peer delivers
// other requested transactions. Other transactions do not count.
func TestWantedIsPatientWithWhoDelivers(t *testing.T) {
	w, at := clocked()
	for i := range 10 {
		require.Len(t, w.hears("slow", nth(i)), 1)
		require.Empty(t, w.hears("other", nth(i)))
	}
	for i := range 9 {
		*at = at.Add(requestTimeout - 1)
		require.Empty(t, w.expire(), "%d", i)
		w.finish("slow", nth(i), true)
	}
	w.announce("slow", nth(20), false)
	*at = at.Add(requestTimeout - 1)
	w.finish("slow", nth(20), false)
	*at = at.Add(2)
	require.Equal(t, []wantTx{{"other", nth(9)}}, w.expire())
}

// TestWantedIsNotHeldUp: a peer that skips one request and delivers later requests gets no more
// time for the skipped request than a silent peer. A peer that delivers other transactions gets at
// most maxRequestTimeout.
func TestWantedIsNotHeldUp(t *testing.T) {
	w, at := clocked()
	h := nth(1 << 20)
	w.announce("censor", h, true)
	require.Empty(t, w.hears("other", h))
	for i := range 2 {
		*at = at.Add(requestTimeout/2 + 1)
		require.Len(t, w.hears("censor", nth(i)), 1)
		w.finish("censor", nth(i), true)
	}
	require.Equal(t, []wantTx{{"other", h}}, w.expire())

	w, at = clocked()
	for i := range 100 {
		w.announce("slow", nth(i), true)
	}
	w.announce("slow", h, true)
	require.Empty(t, w.hears("other", h))
	began := *at
	for i := 0; len(w.requests[h].announcers) > 0; i++ {
		*at = at.Add(requestTimeout - 1)
		w.finish("slow", nth(i), true)
		w.expire()
		require.LessOrEqual(t, at.Sub(began), maxRequestTimeout+2*requestTimeout)
	}
}

// TestWantedPrefersWhoDelivers: any number of unproven peers with new ids announce a transaction
// first or claim to push it. The scheduler at once asks a peer that has delivered before, and the
// next such peer if that one fails.
func TestWantedPrefersWhoDelivers(t *testing.T) {
	w, at := clocked()
	for i, peer := range []p2p.ID{"good", "better"} {
		w.hears(peer, nth(i))
		w.finish(peer, nth(i), true)
	}
	for _, sending := range []bool{false, true} {
		h := nth(1000)
		w.announce("sybil", h, sending)
		w.schedule([]hash{h})
		for i := range 20 {
			require.Empty(t, w.hears(p2p.ID(rune('0'+i)), h))
		}
		require.Equal(t, []wantTx{{"good", h}}, w.hears("good", h), "sending %v", sending)
		require.Empty(t, w.hears("better", h))
		*at = at.Add(requestTimeout + 1)
		require.Equal(t, []wantTx{{"better", h}}, w.expire())
		w.finish("better", h, true)
		for id, a := range w.peers {
			require.Zero(t, a.announcements, id)
		}
		for i := range failureDebt { // it delivers enough to be proven again
			w.hears("good", nth(2000+i))
			w.finish("good", nth(2000+i), true)
		}
	}
}

// TestWantedBoundsAPeer: announcements of a peer fill only its own share.
func TestWantedBoundsAPeer(t *testing.T) {
	w, _ := clocked()
	for i := range 3 * maxAnnounced {
		w.announce("flooder", nth(i), i%2 == 0)
	}
	require.Len(t, w.requests, maxAnnounced)
	require.Len(t, w.hears("honest", nth(1<<30)), 1)
	w.removePeer("flooder")
	require.Len(t, w.requests, 1)
	require.Len(t, w.peers, 1)
}

// TestWantedAsksTheWithholderLast: a peer that announces and withholds is asked after the other
// peers, and only if no other peer announces the same transaction for a while. All failures within
// a timeout count as one.
func TestWantedAsksTheWithholderLast(t *testing.T) {
	w, at := clocked()
	for i := range maxFailures {
		for k := range 5 {
			require.Equal(t, []wantTx{{"bad", nth(5*i + k)}}, w.hears("bad", nth(5*i+k)), "lapse %d", i)
		}
		*at = at.Add(requestTimeout + 1)
		require.Empty(t, w.expire())
		require.Empty(t, w.requests)
	}
	h, alone := nth(1000), nth(1001)
	require.Empty(t, w.hears("bad", h))
	require.Equal(t, []wantTx{{"good", h}}, w.hears("good", h))
	require.Empty(t, w.hears("bad", alone))
	w.announce("bad", nth(1002), true)
	require.Equal(t, []wantTx{{"good", nth(1002)}}, w.hears("good", nth(1002)), "it says that it sends")
	w.finish("good", h, true)
	w.finish("good", nth(1002), true)
	*at = at.Add(requestTimeout)
	require.Equal(t, []wantTx{{"bad", alone}}, w.expire(), "nobody else has it")
	w.finish("bad", alone, true)
	*at = at.Add(failurePause)
	require.Equal(t, []wantTx{{"bad", h}}, w.hears("bad", h), "it is over")
}

// TestVerdictsAreBounded: the oldest verdicts are forgotten.
func TestVerdictsAreBounded(t *testing.T) {
	v := newRecentTxs()
	for i := range 3 * maxRecent / 2 {
		v.Add(nth(i), txStatus{height: 7})
	}
	require.Equal(t, maxRecent, v.Len())
	require.False(t, v.isSettled(nth(0), 7))
	last := nth(3*maxRecent/2 - 1)
	require.True(t, v.isSettled(last, 7))
	require.False(t, v.isSettled(last, 8), "it was refused at another height")
	require.False(t, v.isAdmitted(last))
	v.Add(last, txStatus{7, true, true})
	require.True(t, v.isAdmitted(last))
	require.True(t, v.isSettled(last, 8), "it was of a round")
}
