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

// Sums that no fixed precision tells apart from equal ones, or that are equal although no term is.
func TestCompareRootSums(t *testing.T) {
	for _, c := range []struct {
		a, b []int64
		want int
	}{
		{nil, nil, 0},
		{nil, []int64{1}, -1},
		{[]int64{0, 0}, nil, 0},
		{[]int64{0, 1}, []int64{0, 0}, 1},
		{[]int64{2, 8}, []int64{18}, 0},
		{[]int64{2, 8, 3, 12}, []int64{18, 27}, 0},
		{[]int64{2, 8, 3, 12}, []int64{18, 28}, -1},
		{[]int64{1, 4}, []int64{9}, 0},
		{[]int64{5, 6, 18}, []int64{4, 12, 12}, -1}, // 8.928198 and 8.928203
		{[]int64{1 << 62}, []int64{1<<62 - 1}, 1},
		{[]int64{1<<62 + 1, 1<<62 - 1}, []int64{1 << 62, 1 << 62}, -1},
	} {
		require.Equal(t, c.want, compareRootSums(bigs(c.a), bigs(c.b)), "%v against %v", c.a, c.b)
		require.Equal(t, -c.want, compareRootSums(bigs(c.b), bigs(c.a)), "%v against %v", c.b, c.a)
	}
}

// sqrt(k+1)+sqrt(k-1) falls short of 2 sqrt(k) by about k^-1.5/4: with k = 2^200 that is beyond 64 and beyond 256 bits.
func TestCompareRootSumsRaisesItsPrecision(t *testing.T) {
	one := big.NewInt(1)
	for _, power := range []uint{10, 60, 100, 200, 400} {
		k := new(big.Int).Lsh(one, power)
		above, below := new(big.Int).Add(k, one), new(big.Int).Sub(k, one)
		require.Equal(t, -1, compareRootSums([]*big.Int{above, below}, []*big.Int{k, k}))
		require.Equal(t, 1, compareRootSums([]*big.Int{k, k}, []*big.Int{below, above}))
	}
}

func TestCancel(t *testing.T) {
	a, b := cancel(bigs([]int64{1, 2, 2, 5}), bigs([]int64{2, 3, 5, 7, 9}), (*big.Int).Cmp)
	require.Equal(t, bigs([]int64{1, 2}), a)
	require.Equal(t, bigs([]int64{3, 7, 9}), b)
}
