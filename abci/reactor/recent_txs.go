package reactor

import "encoding/hex"

// hash is the hash of a transaction: the SHA-256 of its bytes.
type hash [32]byte

// String returns the first eight bytes in hexadecimal digits, for logs.
func (h hash) String() string { return hex.EncodeToString(h[:8]) }

// maxRecent is the max number of cached results. It is enough for several rounds of the largest chains.
const maxRecent = 1 << 14

// recentTxs caches the results of this node's last maxRecent admissions. A transaction with a
// cached result is not requested again.
type recentTxs struct {
	statuses map[hash]txStatus
	order    []hash // the keys of statuses, in a ring in order of arrival
	next     int    // the index of the oldest key in a full ring
}

// txStatus is the result of an admission, and the height at the admission.
type txStatus struct {
	height   int64
	admitted bool
	final    bool // whether the node needs no other copy: the transaction was admitted, and belongs to a round
}

func newRecentTxs() *recentTxs { return &recentTxs{statuses: map[hash]txStatus{}} }

// add caches a result.
func (v *recentTxs) add(h hash, status txStatus) {
	if _, ok := v.statuses[h]; !ok {
		if len(v.order) < maxRecent {
			v.order = append(v.order, h)
		} else {
			delete(v.statuses, v.order[v.next])
			v.order[v.next] = h
			v.next = (v.next + 1) % maxRecent
		}
	}
	v.statuses[h] = status
}

// isSettled reports whether this node, at the given height, needs no further copy of a transaction that is not pending.
// A transaction that was rejected at one height may be admitted at the next height.
func (v *recentTxs) isSettled(h hash, height int64) bool {
	said, ok := v.statuses[h]
	return ok && (said.final || said.height == height)
}
