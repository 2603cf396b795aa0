package node

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
func clocked() (*wanted, *time.Time) {
	w, at := newWanted(), time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	return w, &at
}

// hears is an announcement, and what is asked for at once because of it.
func (w *wanted) hears(peer p2p.ID, h hash) []ask {
	w.add(peer, h, false)
	return w.next([]hash{h})
}

// TestWantedAsksOneAtATime: the first announcer is asked, and others where it sends nothing, has lost
// the transaction or has left. Nobody is asked twice for one announcement.
func TestWantedAsksOneAtATime(t *testing.T) {
	w, at := clocked()
	h := nth(1)
	require.Equal(t, []ask{{"a", h}}, w.hears("a", h))
	require.Empty(t, w.hears("b", h))
	require.Empty(t, w.hears("a", h))
	require.Empty(t, w.hears("c", h))
	require.Empty(t, w.hears("d", h))
	*at = at.Add(askPatience)
	require.Empty(t, w.due())
	*at = at.Add(1)
	require.Equal(t, []ask{{"b", h}, {"c", h}}, w.due(), "a has sent nothing: two are asked")
	require.Equal(t, []ask{{"d", h}}, w.lacked("b", h))
	require.Empty(t, w.lacked("b", h), "it says so twice")
	require.Empty(t, w.gone("c"))
	*at = at.Add(askPatience + 1)
	require.Empty(t, w.due(), "nobody is left")
	require.Empty(t, w.of)
	require.Equal(t, []ask{{"a", h}}, w.hears("a", h), "it is announced again")
	w.got("a", h, true)
	require.Empty(t, w.of)
	for id, a := range w.peers {
		require.Zero(t, a.listed, id)
	}
}

// TestWantedWaitsForWhatIsSent: what a peer sends by itself is asked for of nobody until its time
// is over.
func TestWantedWaitsForWhatIsSent(t *testing.T) {
	w, at := clocked()
	h := nth(1)
	w.add("a", h, true)
	require.Empty(t, w.next([]hash{h}))
	require.Empty(t, w.hears("b", h))
	*at = at.Add(askPatience + 1)
	require.Equal(t, []ask{{"b", h}}, w.due())
	w.unsent(ask{"b", h})
	require.Equal(t, []ask{{"b", h}}, w.due(), "the request could not be sent")
	w.lacked("b", h)
	require.Empty(t, w.of)
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
		*at = at.Add(askPatience - 1)
		require.Empty(t, w.due(), "%d", i)
		w.got("slow", nth(i), true)
	}
	w.add("slow", nth(20), false)
	*at = at.Add(askPatience - 1)
	w.got("slow", nth(20), false)
	*at = at.Add(2)
	require.Equal(t, []ask{{"other", nth(9)}}, w.due())
}

// TestWantedIsNotHeldUp: a peer that sends what it was asked for later, and one thing not, keeps
// that back, and has no more time for it than one that sends nothing; nor has who sends other
// things for long.
func TestWantedIsNotHeldUp(t *testing.T) {
	w, at := clocked()
	h := nth(1 << 20)
	w.add("censor", h, true)
	require.Empty(t, w.hears("other", h))
	for i := range 2 {
		*at = at.Add(askPatience/2 + 1)
		require.Len(t, w.hears("censor", nth(i)), 1)
		w.got("censor", nth(i), true)
	}
	require.Equal(t, []ask{{"other", h}}, w.due())

	w, at = clocked()
	for i := range 100 {
		w.add("slow", nth(i), true)
	}
	w.add("slow", h, true)
	require.Empty(t, w.hears("other", h))
	began := *at
	for i := 0; len(w.of[h].from) > 0; i++ {
		*at = at.Add(askPatience - 1)
		w.got("slow", nth(i), true)
		w.due()
		require.LessOrEqual(t, at.Sub(began), maxAskPatience+2*askPatience)
	}
}

// TestWantedPrefersWhoDelivers: any number of peers that have sent nothing yet, and come with new
// ids, announce a transaction first or claim to send it. It is asked for at once of one that has
// sent what it announced, and of the next such one where that fails.
func TestWantedPrefersWhoDelivers(t *testing.T) {
	w, at := clocked()
	for i, peer := range []p2p.ID{"good", "better"} {
		w.hears(peer, nth(i))
		w.got(peer, nth(i), true)
	}
	for _, sending := range []bool{false, true} {
		h := nth(1000)
		w.add("sybil", h, sending)
		w.next([]hash{h})
		for i := range 20 {
			require.Empty(t, w.hears(p2p.ID(rune('0'+i)), h))
		}
		require.Equal(t, []ask{{"good", h}}, w.hears("good", h), "sending %v", sending)
		require.Empty(t, w.hears("better", h))
		*at = at.Add(askPatience + 1)
		require.Equal(t, []ask{{"better", h}}, w.due())
		w.got("better", h, true)
		for id, a := range w.peers {
			require.Zero(t, a.listed, id)
		}
		for i := range lapseDebt { // it makes up for what it did not send
			w.hears("good", nth(2000+i))
			w.got("good", nth(2000+i), true)
		}
	}
}

// TestWantedBoundsAPeer: one peer's announcements fill its own share and no other's.
func TestWantedBoundsAPeer(t *testing.T) {
	w, _ := clocked()
	for i := range 3 * maxAnnounced {
		w.add("flooder", nth(i), i%2 == 0)
	}
	require.Len(t, w.of, maxAnnounced)
	require.Len(t, w.hears("honest", nth(1<<30)), 1)
	w.gone("flooder")
	require.Len(t, w.of, 1)
	require.Len(t, w.peers, 1)
}

// TestWantedAsksTheWithholderLast: who announces and does not send is asked after the others, and
// only if nobody else announces the same for a while. A round that takes too long is one lapse.
func TestWantedAsksTheWithholderLast(t *testing.T) {
	w, at := clocked()
	for i := range maxLapses {
		for k := range 5 {
			require.Equal(t, []ask{{"bad", nth(5*i + k)}}, w.hears("bad", nth(5*i+k)), "lapse %d", i)
		}
		*at = at.Add(askPatience + 1)
		require.Empty(t, w.due())
		require.Empty(t, w.of)
	}
	h, alone := nth(1000), nth(1001)
	require.Empty(t, w.hears("bad", h))
	require.Equal(t, []ask{{"good", h}}, w.hears("good", h))
	require.Empty(t, w.hears("bad", alone))
	w.add("bad", nth(1002), true)
	require.Equal(t, []ask{{"good", nth(1002)}}, w.hears("good", nth(1002)), "it says that it sends")
	w.got("good", h, true)
	w.got("good", nth(1002), true)
	*at = at.Add(askPatience)
	require.Equal(t, []ask{{"bad", alone}}, w.due(), "nobody else has it")
	w.got("bad", alone, true)
	*at = at.Add(lapsePause)
	require.Equal(t, []ask{{"bad", h}}, w.hears("bad", h), "it is over")
}

// TestVerdictsAreBounded: the oldest are forgotten.
func TestVerdictsAreBounded(t *testing.T) {
	v := newVerdicts()
	for i := range 3 * maxVerdicts / 2 {
		v.put(nth(i), verdict{height: 7})
	}
	require.Len(t, v.of, maxVerdicts)
	require.Len(t, v.order, maxVerdicts)
	require.False(t, v.settled(nth(0), 7))
	last := nth(3*maxVerdicts/2 - 1)
	require.True(t, v.settled(last, 7))
	require.False(t, v.settled(last, 8), "it was refused at another height")
	v.put(last, verdict{7, true, true})
	require.True(t, v.settled(last, 8), "it was of a round")
}
