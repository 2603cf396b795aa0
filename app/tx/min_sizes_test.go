package tx_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// TestEmptyEntries: an aggregate with entries without a hash is rejected before decoding, which
// would take more than forty times its bytes. Bytes before the entries do not hide them.
func TestEmptyEntries(t *testing.T) {
	envelope := func(content []byte) []byte {
		raw, err := (&tx.Envelope{Kind: uint32(tx.KindAggregate), Content: content, Signature: make([]byte, 64)}).Marshal()
		require.NoError(t, err)
		return raw
	}
	entries := bytes.Repeat([]byte{5<<3 | 2, 0}, 3<<20)
	for _, c := range []struct {
		first []byte
		says  string
	}{
		{nil, "an entry of field 5 has 0 bytes, want at least 32"},
		{[]byte{1 << 3, 7, 14<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0}, "an entry of field 5 has 0 bytes"},
		{[]byte{0x80 | 5<<3 | 2, 0, 0}, "an entry of field 5 has 0 bytes"}, // a padded key, which the decoder accepts
		{[]byte{0x80 | 5<<3 | 2, 0x80, 0, 0}, "byte 0 begins no field"},
		// the decoder would skip this field
		{[]byte{15<<3 | 5, 0, 0, 0, 0}, "field 15 is of sort 5"},
		{[]byte{15<<3 | 3, 15<<3 | 4}, "field 15 is of sort 3"},                                    // a group
		{[]byte{1 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 127}, "field 1 has no value"}, // more than 64 bits
		{[]byte{7<<3 | 2, 255, 255, 255, 255, 15}, "field 7 is cut off"},
	} {
		bomb := envelope(append(c.first, entries...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tx.Decode(bomb)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, tx.ErrMalformed)
		require.ErrorContains(t, err, c.says)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*len(bomb)), c.says)
	}

	a := &tx.Aggregate{Epoch: 1 << 40, Round: 300, Leader: 5, View: 7, Delta: make([]byte, 1000)}
	for i := range 100 {
		a.Included = append(a.Included, tx.Included{Participant: uint32(i), Hash: make([]byte, 32)})
	}
	content, err := a.Marshal()
	require.NoError(t, err)
	_, err = tx.Decode(envelope(content))
	require.NoError(t, err)
	for cut := range 100 { // the decoder rejects content that ends early
		require.NotPanics(t, func() { _, _ = tx.Decode(envelope(content[cut : 1000-cut])) })
	}
}
