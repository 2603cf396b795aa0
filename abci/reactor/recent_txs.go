package reactor

import "encoding/hex"

// hash names a transaction: the SHA-256 of its bytes.
type hash [32]byte

// String returns the first eight bytes in hex, for logs.
func (h hash) String() string { return hex.EncodeToString(h[:8]) }

// maxRecent bounds the cached statuses of transactions that are no longer pending: some
// rounds of the largest chains.
const maxRecent = 1 << 14

// recentTxs caches the results of this node's last maxRecent admissions. A transaction with a
// status is not requested again.
type recentTxs struct {
	of    map[hash]txStatus
	order []hash // a ring, in order of arrival
	next  int
}

// txStatus is the result of admission at a height.
type txStatus struct {
	height   int64
	admitted bool
	final    bool // admitted for a round: once it has left the pool, nobody needs it
}

func newRecentTxs() *recentTxs { return &recentTxs{of: map[hash]txStatus{}} }

// put caches a status.
func (v *recentTxs) put(h hash, said txStatus) {
	if _, ok := v.of[h]; !ok {
		if len(v.order) < maxRecent {
			v.order = append(v.order, h)
		} else {
			delete(v.of, v.order[v.next])
			v.order[v.next] = h
			v.next = (v.next + 1) % maxRecent
		}
	}
	v.of[h] = said
}

// settled reports whether nobody needs a transaction at a height, if it is not pending. A
// transaction rejected at one height may be admitted at the next.
func (v *recentTxs) settled(h hash, height int64) bool {
	said, ok := v.of[h]
	return ok && (said.final || said.height == height)
}
