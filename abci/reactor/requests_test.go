package reactor

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"
)

// nth is a hash.
func nth(i int) (h hash) {
	binary.BigEndian.PutUint64(h[:], uint64(i)+1)
	return h
}

// clocked is a table with a clock that the test moves.
func clocked() (*requestScheduler, *time.Time) {
	w, at := newRequestScheduler(nil), time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	return w, &at
}

// hears is an announcement, and what is asked for at once because of it.
func (w *requestScheduler) hears(peer p2p.ID, h hash) []wantTx {
	w.announce(peer, h, false)
	return w.schedule([]hash{h})
}

// TestWantedAsksOneAtATime: the first announcer is asked, and others where it sends nothing, has
// lost the transaction or has left. Nobody is asked twice for one announcement.
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
	w.received("a", h, true)
	require.Empty(t, w.requests)
	for id, a := range w.peers {
		require.Zero(t, a.announced, id)
	}
}

// TestWantedWaitsForWhatIsSent: what a peer sends by itself is asked for of nobody until its time
// is over.
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

// TestWantedIsPatientWithWhoDelivers: a slow peer is not given up while it sends other things that
// it owes; junk does not count.
func TestWantedIsPatientWithWhoDelivers(t *testing.T) {
	w, at := clocked()
	for i := range 10 {
		require.Len(t, w.hears("slow", nth(i)), 1)
		require.Empty(t, w.hears("other", nth(i)))
	}
	for i := range 9 {
		*at = at.Add(requestTimeout - 1)
		require.Empty(t, w.expire(), "%d", i)
		w.received("slow", nth(i), true)
	}
	w.announce("slow", nth(20), false)
	*at = at.Add(requestTimeout - 1)
	w.received("slow", nth(20), false)
	*at = at.Add(2)
	require.Equal(t, []wantTx{{"other", nth(9)}}, w.expire())
}

// TestWantedIsNotHeldUp: a peer that sends what it was asked for later, and one thing not, keeps
// that back, and has no more time for it than one that sends nothing; nor has who sends other
// things for long.
func TestWantedIsNotHeldUp(t *testing.T) {
	w, at := clocked()
	h := nth(1 << 20)
	w.announce("censor", h, true)
	require.Empty(t, w.hears("other", h))
	for i := range 2 {
		*at = at.Add(requestTimeout/2 + 1)
		require.Len(t, w.hears("censor", nth(i)), 1)
		w.received("censor", nth(i), true)
	}
	require.Equal(t, []wantTx{{"other", h}}, w.expire())

	w, at = clocked()
	for i := range 100 {
		w.announce("slow", nth(i), true)
	}
	w.announce("slow", h, true)
	require.Empty(t, w.hears("other", h))
	began := *at
	for i := 0; len(w.requests[h].from) > 0; i++ {
		*at = at.Add(requestTimeout - 1)
		w.received("slow", nth(i), true)
		w.expire()
		require.LessOrEqual(t, at.Sub(began), maxRequestTimeout+2*requestTimeout)
	}
}

// TestWantedPrefersWhoDelivers: any number of peers that have sent nothing yet, and come with new
// ids, announce a transaction first or claim to send it. It is asked for at once of one that has
// sent what it announced, and of the next such one where that fails.
func TestWantedPrefersWhoDelivers(t *testing.T) {
	w, at := clocked()
	for i, peer := range []p2p.ID{"good", "better"} {
		w.hears(peer, nth(i))
		w.received(peer, nth(i), true)
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
		w.received("better", h, true)
		for id, a := range w.peers {
			require.Zero(t, a.announced, id)
		}
		for i := range failureDebt { // it makes up for what it did not send
			w.hears("good", nth(2000+i))
			w.received("good", nth(2000+i), true)
		}
	}
}

// TestWantedBoundsAPeer: one peer's announcements fill its own share and no other's.
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

// TestWantedAsksTheWithholderLast: who announces and does not send is asked after the others, and
// only if nobody else announces the same for a while. A round that takes too long is one lapse.
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
	w.received("good", h, true)
	w.received("good", nth(1002), true)
	*at = at.Add(requestTimeout)
	require.Equal(t, []wantTx{{"bad", alone}}, w.expire(), "nobody else has it")
	w.received("bad", alone, true)
	*at = at.Add(failurePause)
	require.Equal(t, []wantTx{{"bad", h}}, w.hears("bad", h), "it is over")
}

// TestVerdictsAreBounded: the oldest are forgotten.
func TestVerdictsAreBounded(t *testing.T) {
	v := newRecentTxs()
	for i := range 3 * maxRecent / 2 {
		v.put(nth(i), txStatus{height: 7})
	}
	require.Len(t, v.of, maxRecent)
	require.Len(t, v.order, maxRecent)
	require.False(t, v.settled(nth(0), 7))
	last := nth(3*maxRecent/2 - 1)
	require.True(t, v.settled(last, 7))
	require.False(t, v.settled(last, 8), "it was refused at another height")
	v.put(last, txStatus{7, true, true})
	require.True(t, v.settled(last, 8), "it was of a round")
}
