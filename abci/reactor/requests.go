package reactor

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

const (
	// maxAnnounced is the max number of transactions that one peer has announced and that have not
	// arrived. It is enough for the gradients of two rounds of the largest chains, and operations.
	maxAnnounced = 1 << 13
	// maxAllAnnounced is the max number of announced transactions that have not arrived, for all
	// peers together. Beyond that number each peer may still announce fairAnnounced transactions (a
	// round of 512 participants), so that many peers together cannot shut out another peer.
	maxAllAnnounced, fairAnnounced = 1 << 15, 1 << 9
	// requestTimeout is the time after which a request without a delivery fails. After the first failure the node asks two
	// peers, and after the third failure four peers. So k peers that withhold a transaction delay it by at most log2(k)+1
	// timeouts. For a peer that is delivering other transactions at that time the timeout is maxRequestTimeout.
	requestTimeout, maxRequestTimeout = 500 * time.Millisecond, 8 * time.Second
	// failureDebt is the number of deliveries with which a peer compensates for one failure, and
	// maxDebt the max number of deliveries that a peer owes.
	failureDebt, maxDebt = 4, 64
	// maxFailures is the number of consecutive failures after which a peer is paused for failurePause; at most one failure
	// counts in each requestTimeout. A paused peer is asked last, and not before requestTimeout has passed since the
	// announcement. A peer with fewer failures is asked after the peers without failures.
	maxFailures  = 8
	failurePause = time.Minute
)

// requestScheduler holds the transactions that peers have announced and this node does not have. It
// requests a transaction first from one peer: the first announcer among the peers of the best rank.
// After each failure it asks more peers. The nodes of members rank before strangers.
type requestScheduler struct {
	mu        sync.Mutex
	now       func() time.Time
	isTrusted func(p2p.ID) bool // whether a peer is a known node; nil means that every peer is known
	requests  map[hash]*request
	peers     map[p2p.ID]*peerScore
}

// request is an announced transaction with its announcers and open requests.
type request struct {
	announcers     []p2p.ID  // the announcers without an open request, in the order of their announcements
	attempts       []attempt // the open requests
	failures       int       // the number of failed requests
	firstAnnounced time.Time
}

// attempt is an open request to one peer, with its start and its deadline.
type attempt struct {
	peer            p2p.ID
	start, deadline time.Time
}

// openTo reports whether a request to the peer is open.
func (x *request) openTo(peer p2p.ID) bool {
	return slices.ContainsFunc(x.attempts, func(t attempt) bool { return t.peer == peer })
}

// peerScore is the record of one peer: its announcements, its failures and its debt.
type peerScore struct {
	announcements int       // the number of missing transactions that the peer has announced
	failures      int       // the number of consecutive failures
	debt          int       // the deliveries with which the peer must still make up for failures
	failTime      time.Time // the time of the last failure
	deliveryTime  time.Time // the time of the last delivery
	requestTime   time.Time // the start of the request that the last delivery answered
	pauseEnd      time.Time // the end of the pause; until then other peers are asked first
}

// wantTx is a request to a peer for a transaction. The caller must send it.
type wantTx struct {
	peer p2p.ID
	hash hash
}

func newRequestScheduler(isTrusted func(p2p.ID) bool) *requestScheduler {
	return &requestScheduler{now: time.Now, isTrusted: isTrusted, requests: map[hash]*request{},
		peers: map[p2p.ID]*peerScore{}}
}

// announce records that a peer has announced a transaction. isSending is true if the peer will
// deliver the transaction without a request.
func (w *requestScheduler) announce(peer p2p.ID, h hash, isSending bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.peers[peer]
	if a == nil {
		a = &peerScore{}
		w.peers[peer] = a
	}
	x := w.requests[h]
	if x != nil && (x.openTo(peer) || slices.Contains(x.announcers, peer)) || a.announcements >= w.maxAnnouncedBy(a) {
		return
	}
	now := w.now()
	if x == nil {
		x = &request{firstAnnounced: now}
		w.requests[h] = x
	}
	a.announcements++
	if isSending && len(x.attempts) == 0 && !now.Before(a.pauseEnd) {
		x.attempts = []attempt{{peer, now, now.Add(requestTimeout)}}
		return
	}
	x.announcers = append(x.announcers, peer)
}

// isAnnounced reports whether a peer has announced a transaction that has not arrived.
func (w *requestScheduler) isAnnounced(h hash) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[h] != nil
}

// maxAnnouncedBy returns the limit on the transactions that a peer has announced and that have not
// arrived. The limit is maxAnnounced, or fairAnnounced if the peer has reached fairAnnounced and
// all peers together have reached maxAllAnnounced.
func (w *requestScheduler) maxAnnouncedBy(a *peerScore) int {
	if a.announcements < fairAnnounced {
		return maxAnnounced
	}
	total := 0
	for _, a := range w.peers {
		total += a.announcements
	}
	if total >= maxAllAnnounced {
		return fairAnnounced
	}
	return maxAnnounced
}

// schedule returns the requests that the caller must send now for the listed transactions.
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

// expire drops open requests that have timed out, and returns the requests to send in their place.
// It also drops transactions without an announcer.
func (w *requestScheduler) expire() (asks []wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for h, x := range w.requests {
		x.attempts = slices.DeleteFunc(x.attempts, func(t attempt) bool { return w.checkFailure(x, t, now) })
		if len(x.attempts) == 0 && len(x.announcers) == 0 {
			delete(w.requests, h)
			continue
		}
		asks = w.choose(asks, h, x, now)
	}
	return asks
}

// checkFailure reports whether an open request has failed, and counts the failure.
func (w *requestScheduler) checkFailure(x *request, t attempt, now time.Time) bool {
	a := w.peers[t.peer]
	// A busy peer is still delivering earlier requests. If the peer has delivered a later request,
	// it has skipped this request and withholds the transaction.
	busy := a.deliveryTime.Add(requestTimeout).After(now) && !a.requestTime.After(t.start) &&
		now.Sub(t.start) < maxRequestTimeout
	if !now.After(t.deadline) || busy {
		return false
	}
	a.fail(now)
	a.announcements--
	x.failures++
	return true
}

// fail counts a failure of the peer.
func (a *peerScore) fail(now time.Time) {
	if now.Sub(a.failTime) < requestTimeout {
		return
	}
	a.failTime, a.debt = now, min(a.debt+failureDebt, maxDebt)
	if a.failures++; a.failures >= maxFailures {
		a.failures, a.pauseEnd = 0, now.Add(failurePause)
	}
}

// choose adds requests for a transaction to asks. It asks the announcers of the best rank until the
// number of open requests exceeds the number of failures by one. There are three exceptions:
//
//   - While only requests to peers of lower rank are open, it also asks one proven peer.
//   - While a request to a proven peer is open, it asks no peer of lower rank.
//   - It asks no paused peer before requestTimeout has passed since the announcement: in that time
//     another peer may announce the transaction.
func (w *requestScheduler) choose(asks []wantTx, h hash, x *request, now time.Time) []wantTx {
	for len(x.announcers) > 0 {
		peer := slices.MinFunc(x.announcers, func(a, b p2p.ID) int { return cmp.Compare(w.rankOf(a, now), w.rankOf(b, now)) })
		rank := w.rankOf(peer, now)
		believed := slices.ContainsFunc(x.attempts, func(t attempt) bool { return w.rankOf(t.peer, now) == rankProven })
		switch {
		case believed && (rank != rankProven || len(x.attempts) > x.failures) || !believed && rank != rankProven &&
			len(x.attempts) > x.failures:
			return asks
		case rank == rankPaused && now.Sub(x.firstAnnounced) < requestTimeout:
			return asks
		}
		x.announcers = slices.DeleteFunc(x.announcers, func(p p2p.ID) bool { return p == peer })
		x.attempts = append(x.attempts, attempt{peer, now, now.Add(requestTimeout)})
		asks = append(asks, wantTx{peer, h})
	}
	return asks
}

// These are the ranks of peers, best first. A proven peer is trusted, has delivered, and has compensated for its
// failures. A proven stranger has also delivered and compensated; it ranks lower because an attacker can run any number
// of strangers. Unproven peers are new or owe deliveries. Paused peers have failed maxFailures times in a row.
const (
	rankProven = iota
	rankProvenStranger
	rankUnproven
	rankPaused
)

func (w *requestScheduler) rankOf(peer p2p.ID, now time.Time) int {
	switch a := w.peers[peer]; {
	case now.Before(a.pauseEnd):
		return rankPaused
	case a.deliveryTime.IsZero() || a.debt > 0:
		return rankUnproven
	case w.isTrusted != nil && !w.isTrusted(peer):
		return rankProvenStranger
	}
	return rankProven
}

// requeue records that a request could not be sent. The request is no longer open, and the peer is
// an announcer that may be asked later.
func (w *requestScheduler) requeue(a wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.requests[a.hash]; x != nil && x.openTo(a.peer) {
		x.attempts = slices.DeleteFunc(x.attempts, func(t attempt) bool { return t.peer == a.peer })
		x.announcers = append(x.announcers, a.peer)
	}
}

// finish drops the request for a transaction that has arrived. If good is true, the transaction was admitted, and its
// sender gets the credit for a delivery. peer is empty if no peer sent the transaction.
func (w *requestScheduler) finish(peer p2p.ID, h hash, good bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.requests[h]
	if x == nil {
		return
	}
	at := slices.IndexFunc(x.attempts, func(t attempt) bool { return t.peer == peer })
	if a := w.peers[peer]; a != nil && good && (at >= 0 || slices.Contains(x.announcers, peer)) {
		a.deliveryTime, a.failures, a.debt = w.now(), 0, max(0, a.debt-1)
		if at >= 0 {
			a.requestTime = x.attempts[at].start
		}
	}
	for _, peer := range x.announcers {
		w.peers[peer].announcements--
	}
	for _, t := range x.attempts {
		w.peers[t.peer].announcements--
	}
	delete(w.requests, h)
}

// notFound records that a peer does not have a transaction that it announced, and returns the requests to other peers.
func (w *requestScheduler) notFound(peer p2p.ID, h hash) []wantTx {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.withdraw(nil, peer, h)
}

// removePeer drops a peer, and returns requests to other peers for the transactions that were
// requested from the dropped peer.
func (w *requestScheduler) removePeer(peer p2p.ID) (asks []wantTx) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range w.requests {
		asks = w.withdraw(asks, peer, h)
	}
	delete(w.peers, peer)
	return asks
}

func (w *requestScheduler) withdraw(asks []wantTx, peer p2p.ID, h hash) []wantTx {
	x := w.requests[h]
	if x == nil {
		return asks
	}
	switch i := slices.Index(x.announcers, peer); {
	case x.openTo(peer):
		x.attempts = slices.DeleteFunc(x.attempts, func(t attempt) bool { return t.peer == peer })
	case i >= 0:
		x.announcers = slices.Delete(x.announcers, i, i+1)
	default:
		return asks
	}
	w.peers[peer].announcements--
	if len(x.attempts) == 0 && len(x.announcers) == 0 {
		delete(w.requests, h)
		return asks
	}
	return w.choose(asks, h, x, w.now())
}
