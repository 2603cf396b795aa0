package pool

import (
	"bytes"
	"crypto/sha256"

	"github.com/spdl/spdl/app/tx"
)

// signatureKey is the last 64 bytes of a transaction: its signature, unless it is unsigned
// evidence. With this key the pool finds a transaction without hashing megabytes.
type signatureKey [64]byte

func keyOf(raw []byte) (e signatureKey) {
	copy(e[:], raw[max(0, len(raw)-len(e)):])
	return e
}

// FindRaw returns the pending transaction with these bytes, or nil.
func (p *Pool) FindRaw(raw []byte) *tx.Tx {
	p.mu.Lock()
	t := p.bySignature[keyOf(raw)]
	p.mu.Unlock()
	if t != nil && bytes.Equal(t.Raw, raw) {
		return t
	}
	return p.Find(sha256.Sum256(raw)) // a different transaction may end with the same bytes
}

// HashOf returns the hash of a transaction. For a pending transaction it need not compute the hash.
// The pool may be nil.
func (p *Pool) HashOf(raw []byte) [32]byte {
	if p != nil {
		if t := p.FindRaw(raw); t != nil {
			return t.Hash
		}
	}
	return sha256.Sum256(raw)
}
