package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// TestStatements: evidence shows where its two statements differ.
func TestStatements(t *testing.T) {
	a := &tx.GradientHeader{Participant: 3, Round: 2, PayloadHash: make([]byte, 32), VrfProof: make([]byte, 80)}
	b := &tx.GradientHeader{Participant: 3, Round: 2, PayloadHash: append(make([]byte, 31), 1), VrfProof: make([]byte, 80)}
	first, err := a.Marshal()
	require.NoError(t, err)
	second, err := b.Marshal()
	require.NoError(t, err)
	e := &tx.Evidence{Kind: uint32(tx.KindGradient), First: first, Second: second,
		FirstSignature: []byte{1}, SecondSignature: []byte{2}}
	got := StatementsOf(e)
	require.NotNil(t, got)
	require.Equal(t, "Both are a gradient of participant #3 for round 2 of epoch 0", got.Both)
	var differ []bool
	for _, row := range got.Rows {
		differ = append(differ, row.Differ())
	}
	require.Equal(t, []bool{true, false, true}, differ)
	require.Nil(t, StatementsOf(&tx.Evidence{Kind: 1, First: first, Second: first}))
}
