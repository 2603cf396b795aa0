package pool

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestSameIsByAllBytes: two transactions that end with the same bytes are distinguished, and a
// dropped transaction is not found.
func TestSameIsByAllBytes(t *testing.T) {
	p := New(apptest.State(4), 0, Patience{}, time.Now)
	a := &tx.Tx{Raw: append([]byte{1}, make([]byte, 64)...)}
	b := &tx.Tx{Raw: append([]byte{2}, make([]byte, 64)...)}
	for i, x := range []*tx.Tx{a, b} {
		x.Hash = sha256.Sum256(x.Raw)
		p.slots[slot{Place: tx.Place{Round: uint64(i)}}] = x
		p.byHash[x.Hash], p.bySignature[keyOf(x.Raw)] = x, x
	}
	require.Same(t, a, p.FindRaw(a.Raw))
	require.Same(t, b, p.FindRaw(append([]byte(nil), b.Raw...)))
	require.Nil(t, p.FindRaw(append([]byte{3}, make([]byte, 64)...)))
	require.Nil(t, p.FindRaw(nil))
	p.drop(slot{Place: tx.Place{Round: 0}})
	require.Same(t, b, p.FindRaw(b.Raw))
	p.drop(slot{Place: tx.Place{Round: 1}})
	require.Nil(t, p.FindRaw(b.Raw))
	require.Empty(t, p.bySignature)
}
