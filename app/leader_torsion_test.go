package app_test

import (
	"testing"

	"github.com/oasisprotocol/curve25519-voi/curve"
	"github.com/stretchr/testify/require"
)

// withTorsion adds the point of order 2 to a key.
func withTorsion(t *testing.T, key []byte) []byte {
	t.Helper()
	point := func(encoded []byte) *curve.EdwardsPoint {
		var c curve.CompressedEdwardsY
		_, err := c.SetBytes(encoded)
		require.NoError(t, err)
		var p curve.EdwardsPoint
		_, err = p.SetCompressedY(&c)
		require.NoError(t, err)
		return &p
	}
	order2 := unhex(t, "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")
	var sum curve.EdwardsPoint
	sum.Add(point(key), point(order2))
	var c curve.CompressedEdwardsY
	c.SetEdwardsPoint(&sum)
	return c[:]
}
