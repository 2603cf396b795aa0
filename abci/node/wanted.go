package node

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

const (
	// maxAnnounced bounds what one peer may announce and has not sent yet: the gradients of two
	// rounds of the largest chains, and operations.
	maxAnnounced = 1 << 13
	// maxAllAnnounced bounds it for all peers together. Beyond it a peer may announce fairAnnounced, so
	// that a crowd that fills the table leaves room for the others: a round of 512 participants.
	maxAllAnnounced, fairAnnounced = 1 << 15, 1 << 9
	// askPatience is how long a peer that was asked may send nothing of what it was asked for, before
	// another is asked beside it: two after the first that was asked in vain, four after three, so that
	// a crowd that announces and withholds costs as many patiences as its number has binary digits. A
	// peer that is sending other things has until maxAskPatience.
	askPatience, maxAskPatience = 500 * time.Millisecond, 8 * time.Second
	// lapseDebt is how many good things a peer has to send to make up for one that it did not send,
	// and maxDebt the most that it has to make up for.
	lapseDebt, maxDebt = 4, 64
	// maxLapses is how often in a row, and not within one askPatience, a peer may fail to send what
	// it announced. During lapsePause it is then asked last, and askPatience after an announcement.
	// From the first failure on it is asked after those who did not fail.
	maxLapses  = 8
	lapsePause = time.Minute
)

// wanted are the transactions that peers announced and this node does not hold. Each is asked for
// of one peer at a time: of who announced it first of those who keep what they announce, members'
// nodes before strangers, and of more where that sends nothing.
type wanted struct {
	mu     sync.Mutex
	now    func() time.Time
	trusts func(p2p.ID) bool // nil trusts everybody
	of     map[hash]*want
	peers  map[p2p.ID]*announcer
}

// want is a transaction that was announced.
type want struct {
	from  []p2p.ID // who announced it and is not asked now, in order
	asked []turnOf // who is to send it
	tries int      // who were asked in vain
	born  time.Time
}

// turnOf is a peer that is to send a transaction.
type turnOf struct {
	peer         p2p.ID
	since, until time.Time
}

// asks reports whether a peer is to send the transaction.
func (x *want) asks(peer p2p.ID) bool {
	return slices.ContainsFunc(x.asked, func(t turnOf) bool { return t.peer == peer })
}

// announcer is what a peer owes.
type announcer struct {
	listed int       // wants that it is in
	lapses int       // in a row
	debt   int       // good things that it has to send before it is believed again
	lapsed time.Time // the last one
	sent   time.Time // when it last sent something good that it had announced
	turn   time.Time // when that was asked for
	paused time.Time // others are asked first until then
}

// ask is a request to be sent.
type ask struct {
	peer p2p.ID
	hash hash
}

func newWanted() *wanted {
	return &wanted{now: time.Now, of: map[hash]*want{}, peers: map[p2p.ID]*announcer{}}
}

// add notes that a peer announced a transaction. Sending says that it sends it without being asked.
func (w *wanted) add(peer p2p.ID, h hash, sending bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.peers[peer]
	if a == nil {
		a = &announcer{}
		w.peers[peer] = a
	}
	x := w.of[h]
	if x != nil && (x.asks(peer) || slices.Contains(x.from, peer)) || a.listed >= w.share(a) {
		return
	}
	now := w.now()
	if x == nil {
		x = &want{born: now}
		w.of[h] = x
	}
	a.listed++
	if sending && len(x.asked) == 0 && !now.Before(a.paused) {
		x.asked = []turnOf{{peer, now, now.Add(askPatience)}}
		return
	}
	x.from = append(x.from, peer)
}

// share returns how many wants a peer may be in.
func (w *wanted) share(a *announcer) int {
	if a.listed < fairAnnounced {
		return maxAnnounced
	}
	total := 0
	for _, a := range w.peers {
		total += a.listed
	}
	if total >= maxAllAnnounced {
		return fairAnnounced
	}
	return maxAnnounced
}

// next returns what of a list is to be asked for now, and of whom.
func (w *wanted) next(list []hash) (asks []ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for _, h := range list {
		if x := w.of[h]; x != nil {
			asks = w.choose(asks, h, x, now)
		}
	}
	return asks
}

// due returns what is to be asked because a peer has sent nothing for too long, and forgets what
// nobody can send.
func (w *wanted) due() (asks []ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for h, x := range w.of {
		x.asked = slices.DeleteFunc(x.asked, func(t turnOf) bool { return w.lapsed(x, t, now) })
		if len(x.asked) == 0 && len(x.from) == 0 {
			delete(w.of, h)
			continue
		}
		asks = w.choose(asks, h, x, now)
	}
	return asks
}

// lapsed reports whether a peer has had its time, and counts it.
func (w *wanted) lapsed(x *want, t turnOf, now time.Time) bool {
	a := w.peers[t.peer]
	// It may be sending other things, of before this one: who passes over what it was asked for keeps
	// it back.
	busy := a.sent.Add(askPatience).After(now) && !a.turn.After(t.since) && now.Sub(t.since) < maxAskPatience
	if !now.After(t.until) || busy {
		return false
	}
	a.lapse(now)
	a.listed--
	x.tries++
	return true
}

// lapse counts that the peer has not sent what it announced.
func (a *announcer) lapse(now time.Time) {
	if now.Sub(a.lapsed) < askPatience {
		return
	}
	a.lapsed, a.debt = now, min(a.debt+lapseDebt, maxDebt)
	if a.lapses++; a.lapses >= maxLapses {
		a.lapses, a.paused = 0, now.Add(lapsePause)
	}
}

// choose asks announcers, the best ranks first: one, and as many more as were asked in vain. It asks
// one of the best rank at once beside any number of worse ones, and none of these beside it. One that
// is paused is not asked at once: another may announce the same meanwhile.
func (w *wanted) choose(asks []ask, h hash, x *want, now time.Time) []ask {
	for len(x.from) > 0 {
		peer := slices.MinFunc(x.from, func(a, b p2p.ID) int { return cmp.Compare(w.rank(a, now), w.rank(b, now)) })
		rank := w.rank(peer, now)
		believed := slices.ContainsFunc(x.asked, func(t turnOf) bool { return w.rank(t.peer, now) == proven })
		switch {
		case believed && (rank != proven || len(x.asked) > x.tries) || !believed && rank != proven && len(x.asked) > x.tries:
			return asks
		case rank == paused && now.Sub(x.born) < askPatience:
			return asks
		}
		x.from = slices.DeleteFunc(x.from, func(p p2p.ID) bool { return p == peer })
		x.asked = append(x.asked, turnOf{peer, now, now.Add(askPatience)})
		asks = append(asks, ask{peer, h})
	}
	return asks
}

// The ranks of peers: of those that are trusted who sent what it had announced, and made up for
// what it did not send; a stranger that did so, of whom there can be any number; who is new, or has
// failed; who failed too often.
const (
	proven = iota
	provenStranger
	unproven
	paused
)

func (w *wanted) rank(peer p2p.ID, now time.Time) int {
	switch a := w.peers[peer]; {
	case now.Before(a.paused):
		return paused
	case a.sent.IsZero() || a.debt > 0:
		return unproven
	case w.trusts != nil && !w.trusts(peer):
		return provenStranger
	}
	return proven
}

// unsent takes back what could not be asked for: it is due again.
func (w *wanted) unsent(a ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.of[a.hash]; x != nil && x.asks(a.peer) {
		x.asked = slices.DeleteFunc(x.asked, func(t turnOf) bool { return t.peer == a.peer })
		x.from = append(x.from, a.peer)
	}
}

// got notes that a transaction is here and is not wanted any more. Good is whether the peer that
// sent it, "" for none, is to be praised for it.
func (w *wanted) got(peer p2p.ID, h hash, good bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.of[h]
	if x == nil {
		return
	}
	at := slices.IndexFunc(x.asked, func(t turnOf) bool { return t.peer == peer })
	if a := w.peers[peer]; a != nil && good && (at >= 0 || slices.Contains(x.from, peer)) {
		a.sent, a.lapses, a.debt = w.now(), 0, max(0, a.debt-1)
		if at >= 0 {
			a.turn = x.asked[at].since
		}
	}
	for _, peer := range x.from {
		w.peers[peer].listed--
	}
	for _, t := range x.asked {
		w.peers[t.peer].listed--
	}
	delete(w.of, h)
}

// lacked notes that a peer has not got what it announced, and returns who is asked instead.
func (w *wanted) lacked(peer p2p.ID, h hash) []ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.without(nil, peer, h)
}

// gone forgets a peer, and returns who is asked instead.
func (w *wanted) gone(peer p2p.ID) (asks []ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range w.of {
		asks = w.without(asks, peer, h)
	}
	delete(w.peers, peer)
	return asks
}

func (w *wanted) without(asks []ask, peer p2p.ID, h hash) []ask {
	x := w.of[h]
	if x == nil {
		return asks
	}
	switch i := slices.Index(x.from, peer); {
	case x.asks(peer):
		x.asked = slices.DeleteFunc(x.asked, func(t turnOf) bool { return t.peer == peer })
	case i >= 0:
		x.from = slices.Delete(x.from, i, i+1)
	default:
		return asks
	}
	w.peers[peer].listed--
	if len(x.asked) == 0 && len(x.from) == 0 {
		delete(w.of, h)
		return asks
	}
	return w.choose(asks, h, x, w.now())
}
