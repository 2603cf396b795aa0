package reactor

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
	// requestTimeout is the time after which a request without a delivery fails and more peers are
	// asked: two after the first failure, four after three failures. So k peers that announce and
	// withhold a transaction delay it by at most log2(k)+1 timeouts. A peer that is delivering
	// other transactions has until maxRequestTimeout.
	requestTimeout, maxRequestTimeout = 500 * time.Millisecond, 8 * time.Second
	// failureDebt is the number of deliveries with which a peer makes up for one failure, and
	// maxDebt the maximum that it owes.
	failureDebt, maxDebt = 4, 64
	// maxFailures is the number of consecutive failures, counted at most once in each
	// requestTimeout, after which a peer is paused for failurePause: it is asked last, and not
	// before requestTimeout has passed since the announcement. From its first failure on a peer is
	// asked after the peers without failures.
	maxFailures  = 8
	failurePause = time.Minute
)

// requestScheduler holds the transactions that peers announced and this node does not hold. Each
// transaction is requested from one peer at a time, the earliest announcer of the best rank, and
// from more peers after each failure. Members' nodes rank before strangers.
type requestScheduler struct {
	mu       sync.Mutex
	now      func() time.Time
	trusts   func(p2p.ID) bool // whether a peer is a known node; nil trusts each
	requests map[hash]*request
	peers    map[p2p.ID]*peerScore
}

// request is an announced transaction and its announcers.
type request struct {
	from           []p2p.ID  // announcers without an open request, in the order of their announcements
	open           []attempt // open requests
	failures       int       // failed requests
	firstAnnounced time.Time
}

// attempt is an open request to a peer, with its start and its deadline.
type attempt struct {
	peer         p2p.ID
	since, until time.Time
}

// openTo reports whether a request to the peer is open.
func (x *request) openTo(peer p2p.ID) bool {
	return slices.ContainsFunc(x.open, func(t attempt) bool { return t.peer == peer })
}

// peerScore holds the announcements, failures and debt of a peer.
type peerScore struct {
	announced int       // requests with this peer as an announcer
	failures  int       // failures in a row
	debt      int       // deliveries that it owes before it is proven again
	failed    time.Time // time of the last failure
	sent      time.Time // time of the last delivery
	turn      time.Time // time of the request for that delivery
	paused    time.Time // other peers are asked first until then
}

// wantTx is a request that the caller must send.
type wantTx struct {
	peer p2p.ID
	hash hash
}

func newRequestScheduler(trusts func(p2p.ID) bool) *requestScheduler {
	return &requestScheduler{now: time.Now, trusts: trusts, requests: map[hash]*request{}, peers: map[p2p.ID]*peerScore{}}
}

// announce records an announcement by a peer. sending means that the peer will deliver the
// transaction without a request.
func (w *requestScheduler) announce(peer p2p.ID, h hash, sending bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.peers[peer]
	if a == nil {
		a = &peerScore{}
		w.peers[peer] = a
	}
	x := w.requests[h]
	if x != nil && (x.openTo(peer) || slices.Contains(x.from, peer)) || a.announced >= w.share(a) {
		return
	}
	now := w.now()
	if x == nil {
		x = &request{firstAnnounced: now}
		w.requests[h] = x
	}
	a.announced++
	if sending && len(x.open) == 0 && !now.Before(a.paused) {
		x.open = []attempt{{peer, now, now.Add(requestTimeout)}}
		return
	}
	x.from = append(x.from, peer)
}

// announced reports whether a transaction that this node lacks was announced.
func (w *requestScheduler) announced(h hash) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[h] != nil
}

// share returns the max number of transactions that a peer may have announced.
func (w *requestScheduler) share(a *peerScore) int {
	if a.announced < fairAnnounced {
		return maxAnnounced
	}
	total := 0
	for _, a := range w.peers {
		total += a.announced
	}
	if total >= maxAllAnnounced {
		return fairAnnounced
	}
	return maxAnnounced
}

// schedule returns the requests to send now for the transactions of a list.
func (w *requestScheduler) schedule(list []hash) (asks []wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for _, h := range list {
		if x := w.requests[h]; x != nil {
			asks = w.choose(asks, h, x, now)
		}
	}
	return asks
}

// expire drops open requests whose time is over and returns the requests to send in their place. It
// also drops requests without an announcer.
func (w *requestScheduler) expire() (asks []wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for h, x := range w.requests {
		x.open = slices.DeleteFunc(x.open, func(t attempt) bool { return w.failed(x, t, now) })
		if len(x.open) == 0 && len(x.from) == 0 {
			delete(w.requests, h)
			continue
		}
		asks = w.choose(asks, h, x, now)
	}
	return asks
}

// failed reports whether a request has expired, and counts the failure.
func (w *requestScheduler) failed(x *request, t attempt, now time.Time) bool {
	a := w.peers[t.peer]
	// The peer may be busy with earlier requests. A peer that has delivered a later request has
	// skipped this one, and withholds the transaction.
	busy := a.sent.Add(requestTimeout).After(now) && !a.turn.After(t.since) && now.Sub(t.since) < maxRequestTimeout
	if !now.After(t.until) || busy {
		return false
	}
	a.fail(now)
	a.announced--
	x.failures++
	return true
}

// fail counts a failure of the peer.
func (a *peerScore) fail(now time.Time) {
	if now.Sub(a.failed) < requestTimeout {
		return
	}
	a.failed, a.debt = now, min(a.debt+failureDebt, maxDebt)
	if a.failures++; a.failures >= maxFailures {
		a.failures, a.paused = 0, now.Add(failurePause)
	}
}

// choose adds requests for a transaction to the announcers of the best rank, until one more request
// is open than have failed. It asks one proven peer even if that many requests to peers of lower
// rank are open. It asks no peer of lower rank while a request to a proven peer is open. It asks a
// paused peer only requestTimeout after the announcement, because another peer may announce the
// transaction until then.
func (w *requestScheduler) choose(asks []wantTx, h hash, x *request, now time.Time) []wantTx {
	for len(x.from) > 0 {
		peer := slices.MinFunc(x.from, func(a, b p2p.ID) int { return cmp.Compare(w.rank(a, now), w.rank(b, now)) })
		rank := w.rank(peer, now)
		believed := slices.ContainsFunc(x.open, func(t attempt) bool { return w.rank(t.peer, now) == proven })
		switch {
		case believed && (rank != proven || len(x.open) > x.failures) || !believed && rank != proven &&
			len(x.open) > x.failures:
			return asks
		case rank == paused && now.Sub(x.firstAnnounced) < requestTimeout:
			return asks
		}
		x.from = slices.DeleteFunc(x.from, func(p p2p.ID) bool { return p == peer })
		x.open = append(x.open, attempt{peer, now, now.Add(requestTimeout)})
		asks = append(asks, wantTx{peer, h})
	}
	return asks
}

// The ranks of peers. A proven peer is trusted, has delivered, and has made up for its failures. A
// proven stranger has delivered and made up for its failures too, but is not trusted, because an
// attacker can run any number of strangers. Unproven peers are new or owe deliveries. Paused peers
// failed maxFailures times in a row.
const (
	proven = iota
	provenStranger
	unproven
	paused
)

func (w *requestScheduler) rank(peer p2p.ID, now time.Time) int {
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

// requeue returns a request that could not be sent: the peer is an announcer again.
func (w *requestScheduler) requeue(a wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.requests[a.hash]; x != nil && x.openTo(a.peer) {
		x.open = slices.DeleteFunc(x.open, func(t attempt) bool { return t.peer == a.peer })
		x.from = append(x.from, a.peer)
	}
}

// received drops the request for a transaction that this node received. If good, the transaction
// was admitted, and its sender, "" for none, is credited with a delivery.
func (w *requestScheduler) received(peer p2p.ID, h hash, good bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.requests[h]
	if x == nil {
		return
	}
	at := slices.IndexFunc(x.open, func(t attempt) bool { return t.peer == peer })
	if a := w.peers[peer]; a != nil && good && (at >= 0 || slices.Contains(x.from, peer)) {
		a.sent, a.failures, a.debt = w.now(), 0, max(0, a.debt-1)
		if at >= 0 {
			a.turn = x.open[at].since
		}
	}
	for _, peer := range x.from {
		w.peers[peer].announced--
	}
	for _, t := range x.open {
		w.peers[t.peer].announced--
	}
	delete(w.requests, h)
}

// notFound records that a peer does not hold a transaction that it announced, and returns the
// requests to send in its place.
func (w *requestScheduler) notFound(peer p2p.ID, h hash) []wantTx {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.without(nil, peer, h)
}

// removePeer drops a peer, and returns the requests to send in its place.
func (w *requestScheduler) removePeer(peer p2p.ID) (asks []wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range w.requests {
		asks = w.without(asks, peer, h)
	}
	delete(w.peers, peer)
	return asks
}

func (w *requestScheduler) without(asks []wantTx, peer p2p.ID, h hash) []wantTx {
	x := w.requests[h]
	if x == nil {
		return asks
	}
	switch i := slices.Index(x.from, peer); {
	case x.openTo(peer):
		x.open = slices.DeleteFunc(x.open, func(t attempt) bool { return t.peer == peer })
	case i >= 0:
		x.from = slices.Delete(x.from, i, i+1)
	default:
		return asks
	}
	w.peers[peer].announced--
	if len(x.open) == 0 && len(x.from) == 0 {
		delete(w.requests, h)
		return asks
	}
	return w.choose(asks, h, x, w.now())
}
