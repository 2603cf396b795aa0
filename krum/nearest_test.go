package krum

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

func TestNearest(t *testing.T) {
	sq := [][]int64{{0, 5, 3, 5}, {5, 0, 1 << 62, 2}, {3, 1 << 62, 0, 1}, {5, 2, 1, 0}}
	d := gradients.DistancesOf(4, func(i, j int) int64 { return sq[i][j] })
	require.Equal(t, [][]int{{2, 1, 3}, {3, 0, 2}, {3, 0, 1}, {2, 1, 0}}, Nearest(d, 3, 0))
	// All but the largest count as 5.
	require.Equal(t, [][]int{{1, 2}, {0, 3}, {0, 3}, {0, 1}}, Nearest(d, 2, 5))
	require.Equal(t, [][]int{{1}, {0}, {0}, {0}}, Nearest(d, 1, 1<<62))
	require.Equal(t, [][]int{{}, {}, {}, {}}, Nearest(d, 0, 0))
	require.Empty(t, Nearest(gradients.Pairwise(nil), 3, 0))
	require.Panics(t, func() { Nearest(d, 4, 0) })
	require.Panics(t, func() { Nearest(d, -1, 0) })
}

// Numbers of keys on both sides of fewKeys, with ties, narrow and wide spans.
func TestSortKeys(t *testing.T) {
	r := splitmix64(3)
	for _, n := range []int{0, 1, 2, fewKeys, fewKeys + 1, 300, 1000} {
		for _, span := range []uint64{1, 3, 255, 256, 257, 1 << 20, 1<<narrowBits - 1} {
			for _, least := range []uint64{0, 12345} {
				keys := make([]uint64, n)
				for j := range keys {
					keys[j] = min(least+r.next()%span, 1<<narrowBits-1)<<positionBits | uint64(j)
				}
				want := slices.Clone(keys)
				slices.Sort(want)
				require.Equal(t, want, sortKeys(keys, make([]uint64, n+1)))
			}
		}
	}
}
