package krum

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFixedRootIsTheFloor(t *testing.T) {
	r := splitmix64(3)
	check := func(x uint64) {
		want := new(big.Int).Sqrt(new(big.Int).Lsh(new(big.Int).SetUint64(x), 2*rootBits))
		require.Equal(t, want.Uint64(), fixedRoot(x), "%d", x)
	}
	for x := range uint64(5000) {
		check(x)
		check(1<<narrowBits - 1 - x)
		check((1<<25 + x) * (1<<25 - x))
		check(r.next() >> (64 - narrowBits + r.below(40)))
	}
}
