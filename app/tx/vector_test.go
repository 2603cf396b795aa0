package tx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// TestAVectorIsDecodedOnce: a second call returns the same coordinates, and a call for another
// shape returns the error of decoding.
func TestAVectorIsDecodedOnce(t *testing.T) {
	x := sign(t, &tx.Gradient{Payload: []byte{1, 0, 2, 0}})
	_, err := x.Vector(gradients.Int16, 3)
	require.ErrorIs(t, err, gradients.ErrLength)
	v, err := x.Vector(gradients.Int16, 2)
	require.NoError(t, err)
	require.Equal(t, []int16{1, 2}, v.Int16s())
	again, err := x.Vector(gradients.Int16, 2)
	require.NoError(t, err)
	require.Same(t, &v.Int16s()[0], &again.Int16s()[0])
	narrow, err := x.Vector(gradients.Int8, 4)
	require.NoError(t, err)
	require.Equal(t, []int8{1, 0, 2, 0}, narrow.Int8s())
	_, err = x.Vector(gradients.Int16, 1)
	require.ErrorIs(t, err, gradients.ErrLength)

	off := sign(t, &tx.Gradient{Payload: []byte{0x80, 0}})
	for range 2 {
		_, err = off.Vector(gradients.Int8, 2)
		require.ErrorIs(t, err, gradients.ErrRange)
	}
}
