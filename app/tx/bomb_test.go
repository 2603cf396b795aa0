package tx_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// TestManyIncluded: an aggregate that lists more than there can be participants is
// refused before it is decoded, which would take forty times its bytes and more.
func TestManyIncluded(t *testing.T) {
	require.Equal(t, gradients.MaxParticipants, tx.MaxIncluded)
	envelope := func(content []byte) []byte {
		raw, err := (&tx.Envelope{Kind: uint32(tx.KindAggregate), Content: content, Signature: make([]byte, 64)}).Marshal()
		require.NoError(t, err)
		return raw
	}
	entries := bytes.Repeat([]byte{5<<3 | 2, 0}, 3<<20)
	for name, first := range map[string][]byte{
		"more than 4096 gradients": nil,
		"key 0x7d is no field's":   {15<<3 | 5, 0, 0, 0, 0},                                    // which the decoder passes over
		"key 0xaa is no field's":   {0x80 | 5<<3 | 2, 0x80, 0x01, 0},                           // a padded key
		"field 1 has no value":     {1 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 127}, // more than 64 bits
		"key 0x7b is no field's":   {15<<3 | 3, 15<<3 | 4},                                     // a group
	} {
		bomb := envelope(append(first, entries...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tx.Decode(bomb)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*len(bomb)), name)
	}

	a := &tx.Aggregate{Epoch: 1 << 40, Round: 300, Leader: 5, View: 7, Delta: make([]byte, 1000)}
	for i := range tx.MaxIncluded {
		a.Included = append(a.Included, tx.Included{Participant: uint32(i), Hash: make([]byte, 32)})
	}
	content, err := a.Marshal()
	require.NoError(t, err)
	_, err = tx.Decode(envelope(content))
	require.NoError(t, err)
	a.Included = append(a.Included, tx.Included{})
	content, err = a.Marshal()
	require.NoError(t, err)
	_, err = tx.Decode(envelope(content))
	require.ErrorContains(t, err, "more than 4096 gradients")
	for cut := range 100 { // whatever does not end well is for the decoder to refuse
		require.NotPanics(t, func() { _, _ = tx.Decode(envelope(content[cut : 1000-cut])) })
	}
}
