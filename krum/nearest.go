package krum

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// positionBits hold a position below gradients.MaxParticipants, in the same word as a distance.
const positionBits = 12

// Nearest returns for each vector the positions of its q nearest others, nearest first, ties by
// position, where distances below floor count as floor. It panics if q is negative or there are
// fewer than q others.
func Nearest(d *gradients.Distances, q int, floor int64) [][]int {
	n := d.Len()
	if q < 0 || n > 0 && q > n-1 {
		panic(fmt.Sprintf("krum: %d nearest others among %d vectors", q, n))
	}
	near, all := make([][]int, n), make([]int, n*q)
	keys := make([]uint64, 0, n)
	for i := range near {
		near[i], all = all[:q:q], all[q:]
		if keys = sortedKeys(keys[:0], d.Row(i), i, floor); len(keys) == n-1 {
			for k := range near[i] {
				near[i][k] = int(keys[k] & (1<<positionBits - 1))
			}
			continue
		}
		row := d.Row(i)
		order := rank(n, func(j, k int) int {
			return cmp.Or(cmp.Compare(b2i(j == i), b2i(k == i)), cmp.Compare(max(row[j], floor), max(row[k], floor)))
		})
		copy(near[i], order)
	}
	return near
}

// sortedKeys appends a word for each other vector that orders by distance, then by position; words
// sort faster than pairs. It stops short at a distance that is not narrow, for which there is no
// room.
func sortedKeys(keys []uint64, row []int64, i int, floor int64) []uint64 {
	for j, sq := range row {
		if sq = max(sq, floor); j != i {
			if sq>>narrowBits != 0 {
				return keys
			}
			keys = append(keys, uint64(sq)<<positionBits|uint64(j))
		}
	}
	slices.Sort(keys)
	return keys
}
