package node

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

const (
	// maxAnnounced bounds the announced and not yet delivered transactions of one peer: the
	// gradients of two rounds of the largest chains, and operations.
	maxAnnounced = 1 << 13
	// maxAllAnnounced bounds them for all peers together. Beyond it a peer may announce
	// fairAnnounced, a round of 512 participants, so that a crowd that fills the table leaves room
	// for the other peers.
	maxAllAnnounced, fairAnnounced = 1 << 15, 1 << 9
	// askPatience is the time after which a request without a delivery fails and another peer is
	// asked too: two more peers after the first failure, four after three failures, so that a crowd
	// that announces and withholds costs as many patiences as its size has binary digits. A peer
	// that is delivering other transactions has until maxAskPatience.
	askPatience, maxAskPatience = 500 * time.Millisecond, 8 * time.Second
	// lapseDebt is the number of deliveries with which a peer makes up for one failure, and maxDebt
	// the maximum that it owes.
	lapseDebt, maxDebt = 4, 64
	// maxLapses is the number of failures in a row, at most one in each askPatience, after which a
	// peer is asked last for lapsePause, and then askPatience after its announcement. From the
	// first failure on it is asked after the peers without failures.
	maxLapses  = 8
	lapsePause = time.Minute
)

// wanted holds the transactions that peers announced and this node does not hold. Each transaction
// is requested from one peer at a time, the earliest announcer of the best rank, and from more
// peers after each failure. Members' nodes rank before strangers.
type wanted struct {
	mu     sync.Mutex
	now    func() time.Time
	trusts func(p2p.ID) bool // whether a peer is a known node; nil trusts each
	of     map[hash]*want
	peers  map[p2p.ID]*announcer
}

// want is an announced transaction and its announcers.
type want struct {
	from  []p2p.ID // announcers that are not asked now, in the order of their announcements
	asked []turnOf // open requests
	tries int      // failed requests
	born  time.Time
}

// turnOf is an open request to a peer, with its start and its deadline.
type turnOf struct {
	peer         p2p.ID
	since, until time.Time
}

// asks reports whether a request to the peer is open.
func (x *want) asks(peer p2p.ID) bool {
	return slices.ContainsFunc(x.asked, func(t turnOf) bool { return t.peer == peer })
}

// announcer holds the announcements, failures and debt of a peer.
type announcer struct {
	listed int       // wants with this peer as announcer
	lapses int       // failures in a row
	debt   int       // deliveries that it owes before it is proven again
	lapsed time.Time // time of the last failure
	sent   time.Time // time of the last delivery
	turn   time.Time // time of the request for that delivery
	paused time.Time // other peers are asked first until then
}

// ask is a request that the caller must send.
type ask struct {
	peer p2p.ID
	hash hash
}

func newWanted() *wanted {
	return &wanted{now: time.Now, of: map[hash]*want{}, peers: map[p2p.ID]*announcer{}}
}

// add records an announcement by a peer. Sending means that the peer will deliver the transaction
// without a request.
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

// share returns the maximum number of wants of a peer.
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

// next returns the requests to send now for the transactions of a list.
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

// due expires open requests and returns the requests to send in their place. It drops wants without
// an announcer.
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

// lapsed reports whether a request has expired, and counts the failure.
func (w *wanted) lapsed(x *want, t turnOf, now time.Time) bool {
	a := w.peers[t.peer]
	// The peer may be delivering earlier requests. A peer that delivers later requests has skipped
	// this one, and withholds it.
	busy := a.sent.Add(askPatience).After(now) && !a.turn.After(t.since) && now.Sub(t.since) < maxAskPatience
	if !now.After(t.until) || busy {
		return false
	}
	a.lapse(now)
	a.listed--
	x.tries++
	return true
}

// lapse counts a failure of the peer.
func (a *announcer) lapse(now time.Time) {
	if now.Sub(a.lapsed) < askPatience {
		return
	}
	a.lapsed, a.debt = now, min(a.debt+lapseDebt, maxDebt)
	if a.lapses++; a.lapses >= maxLapses {
		a.lapses, a.paused = 0, now.Add(lapsePause)
	}
}

// choose adds requests to the announcers of the best rank: one, and one more for each failure. It
// asks one proven peer at once in addition to any number of open requests to peers of lower rank,
// and none of lower rank in addition to a proven one. A paused peer is not asked before
// askPatience, in which another peer may announce the transaction.
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

// The ranks of peers. A proven peer is trusted, has delivered, and has made up for its failures. A
// proven stranger has done so too, but a crowd can have any number of them. Unproven peers are new
// or owe deliveries. Paused peers failed maxLapses times in a row.
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

// unsent returns a request that could not be sent: the peer is an announcer again.
func (w *wanted) unsent(a ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.of[a.hash]; x != nil && x.asks(a.peer) {
		x.asked = slices.DeleteFunc(x.asked, func(t turnOf) bool { return t.peer == a.peer })
		x.from = append(x.from, a.peer)
	}
}

// got drops the want of a transaction that this node received. Good means that the transaction was
// admitted: its sender, "" for none, is credited with a delivery.
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

// lacked records that a peer does not hold a transaction that it announced, and returns the
// requests to send in its place.
func (w *wanted) lacked(peer p2p.ID, h hash) []ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.without(nil, peer, h)
}

// gone drops a peer, and returns the requests to send in its place.
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
