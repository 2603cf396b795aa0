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
	// askPatience is how long a peer that was asked may send nothing of what it was asked for,
	// before another is asked. It doubles with each peer that was asked in vain. A peer that is
	// sending other things has until maxAskPatience.
	askPatience, maxAskPatience = 500 * time.Millisecond, 8 * time.Second
	// maxLapses is how often in a row, and not within one askPatience, a peer may fail to send what
	// it announced. During lapsePause it is then asked last, and askPatience after an announcement.
	// From the first failure on it is asked after those who did not fail.
	maxLapses  = 8
	lapsePause = time.Minute
)

// wanted are the transactions that peers announced and this node does not hold. Each is asked for
// of one peer at a time: of who announced it first of those who keep what they announce, and of the
// next one where that sends nothing.
type wanted struct {
	mu    sync.Mutex
	now   func() time.Time
	of    map[hash]*want
	peers map[p2p.ID]*announcer
}

// want is a transaction that was announced.
type want struct {
	from  []p2p.ID // who announced it and is not asked now, in order
	asked p2p.ID   // who is to send it, "" for nobody
	since time.Time
	until time.Time
	tries int
	born  time.Time // when it was first announced
}

// announcer is what a peer owes.
type announcer struct {
	listed int       // wants that it is in
	lapses int       // in a row
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
	if x != nil && (x.asked == peer || slices.Contains(x.from, peer)) || a.listed >= maxAnnounced {
		return
	}
	now := w.now()
	if x == nil {
		x = &want{born: now}
		w.of[h] = x
	}
	a.listed++
	if sending && x.asked == "" && !now.Before(a.paused) {
		x.asked, x.since, x.until = peer, now, now.Add(askPatience)
		return
	}
	x.from = append(x.from, peer)
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
		if x.asked != "" && now.After(x.until) {
			a := w.peers[x.asked]
			// It is sending other things, of before this one: who passes over what it was asked for
			// keeps it back.
			if patient := a.sent.Add(w.patience(x)); patient.After(now) && !a.turn.After(x.since) && now.Sub(x.since) < maxAskPatience {
				x.until = patient
				continue
			}
			a.lapse(now)
			a.listed--
			x.asked = ""
			x.tries++
		}
		if x.asked == "" && len(x.from) == 0 {
			delete(w.of, h)
			continue
		}
		asks = w.choose(asks, h, x, now)
	}
	return asks
}

// lapse counts that the peer has not sent what it announced.
func (a *announcer) lapse(now time.Time) {
	if now.Sub(a.lapsed) < askPatience {
		return
	}
	a.lapsed = now
	if a.lapses++; a.lapses >= maxLapses {
		a.lapses, a.paused = 0, now.Add(lapsePause)
	}
}

// patience is how long the peer that is asked next may send nothing.
func (w *wanted) patience(x *want) time.Duration {
	return min(askPatience<<min(x.tries, 8), maxAskPatience)
}

// choose asks the first announcer of the best rank, if nobody is asked already, or only one of a
// worse rank, of whom there can be any number. One that is paused is not asked at once: another may
// announce the same meanwhile.
func (w *wanted) choose(asks []ask, h hash, x *want, now time.Time) []ask {
	if len(x.from) == 0 {
		return asks
	}
	peer := slices.MinFunc(x.from, func(a, b p2p.ID) int { return cmp.Compare(w.rank(a, now), w.rank(b, now)) })
	if x.asked != "" {
		if w.rank(peer, now) > proven || w.rank(x.asked, now) == proven {
			return asks
		}
		x.from = append(x.from, x.asked)
	} else if w.rank(peer, now) == paused && now.Sub(x.born) < askPatience {
		return asks
	}
	x.from = slices.DeleteFunc(x.from, func(p p2p.ID) bool { return p == peer })
	x.asked, x.since, x.until = peer, now, now.Add(w.patience(x))
	return append(asks, ask{peer, h})
}

// The ranks of peers: who sent what it had announced, and nothing less since; who is new, or has
// failed since; who failed too often.
const (
	proven = iota
	unproven
	paused
)

func (w *wanted) rank(peer p2p.ID, now time.Time) int {
	switch a := w.peers[peer]; {
	case now.Before(a.paused):
		return paused
	case a.sent.IsZero() || a.lapses > 0:
		return unproven
	}
	return proven
}

// unsent takes back what could not be asked for: it is due again.
func (w *wanted) unsent(a ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.of[a.hash]; x != nil && x.asked == a.peer {
		x.asked, x.from = "", append(x.from, a.peer)
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
	if a := w.peers[peer]; a != nil && good && (x.asked == peer || slices.Contains(x.from, peer)) {
		a.sent, a.lapses = w.now(), 0
		if x.asked == peer {
			a.turn = x.since
		}
	}
	for _, peer := range x.from {
		w.peers[peer].listed--
	}
	if x.asked != "" {
		w.peers[x.asked].listed--
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
	case x.asked == peer:
		x.asked = ""
	case i >= 0:
		x.from = slices.Delete(x.from, i, i+1)
	default:
		return asks
	}
	w.peers[peer].listed--
	if x.asked == "" && len(x.from) == 0 {
		delete(w.of, h)
		return asks
	}
	return w.choose(asks, h, x, w.now())
}
