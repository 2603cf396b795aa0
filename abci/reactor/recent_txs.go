package reactor

import (
	"encoding/hex"

	"github.com/spdl/spdl/internal/memo"
)

// hash is the hash of a transaction: the SHA-256 of its bytes.
type hash [32]byte

// String returns the first eight bytes in hexadecimal digits, for logs.
func (h hash) String() string { return hex.EncodeToString(h[:8]) }

// maxRecent is the max number of cached results. It is enough for several rounds of the largest chains.
const maxRecent = 1 << 14

// recentTxs caches the results of this node's last maxRecent admissions. A transaction with a
// cached result is not requested again.
type recentTxs struct {
	*memo.LRU[hash, txStatus]
}

// txStatus is the result of an admission, and the height at the admission.
type txStatus struct {
	height   int64
	admitted bool
	final    bool // whether the node needs no other copy: the transaction was admitted, and belongs to a round
}

func newRecentTxs() recentTxs { return recentTxs{memo.NewLRU[hash, txStatus](maxRecent, nil)} }

// isAdmitted reports whether this node has admitted a transaction.
func (v recentTxs) isAdmitted(h hash) bool {
	said, _ := v.Peek(h)
	return said.admitted
}

// isSettled reports whether this node, at the given height, needs no further copy of a transaction that is not pending.
// A transaction that was rejected at one height may be admitted at the next height.
func (v recentTxs) isSettled(h hash, height int64) bool {
	said, ok := v.Peek(h)
	return ok && (said.final || said.height == height)
}
