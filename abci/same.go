package abci

import (
	"bytes"
	"crypto/sha256"

	"github.com/spdl/spdl/app/tx"
)

// end is the last bytes of a transaction, its signature. By it the pool finds a transaction without
// hashing megabytes.
type end [64]byte

func endOf(raw []byte) (e end) {
	copy(e[:], raw[max(0, len(raw)-len(e)):])
	return e
}

// same returns the pending transaction with these bytes, nil if there is none.
func (p *pool) same(raw []byte) *tx.Tx {
	p.mu.Lock()
	t := p.ends[endOf(raw)]
	p.mu.Unlock()
	if t != nil && bytes.Equal(t.Raw, raw) {
		return t
	}
	return p.find(sha256.Sum256(raw)) // another transaction may have the same end
}
