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
	for i := range near {
		near[i] = all[i*q : (i+1)*q : (i+1)*q]
	}
	const rows = 16 // that share room for keys
	gradients.InParallel((n+rows-1)/rows, 8*rows*n, func(block int) {
		keys, spare := make([]uint64, 0, n), make([]uint64, n)
		for i := block * rows; i < min((block+1)*rows, n); i++ {
			nearest(near[i], d.Row(i), i, floor, keys, spare)
		}
	})
	return near
}

// nearest writes the positions of the len(near) nearest others of vector i, whose distances row
// holds. keys and spare have room for all.
func nearest(near []int, row []int64, i int, floor int64, keys, spare []uint64) {
	if keys = appendKeys(keys[:0], row, i, floor); len(keys) == len(row)-1 {
		for k, key := range sortKeys(keys, spare)[:len(near)] {
			near[k] = int(key & (1<<positionBits - 1))
		}
		return
	}
	copy(near, rank(len(row), func(j, k int) int {
		return cmp.Or(cmp.Compare(b2i(j == i), b2i(k == i)), cmp.Compare(max(row[j], floor), max(row[k], floor)))
	}))
}

// appendKeys appends a word for each other vector that orders by distance, then by position; words
// sort faster than pairs. It stops short at a distance that is not narrow, for which there is no
// room.
func appendKeys(keys []uint64, row []int64, i int, floor int64) []uint64 {
	for j, sq := range row {
		if sq = max(sq, floor); j != i {
			if sq>>narrowBits != 0 {
				return keys
			}
			keys = append(keys, uint64(sq)<<positionBits|uint64(j))
		}
	}
	return keys
}

// digitBits is how many bits of a word sortKeys looks at at a time, and fewKeys the number of words
// up to which comparing them is faster. Measured.
const (
	digitBits = 8
	fewKeys   = 64
)

// sortKeys returns the keys in ascending order, in their own array or in spare's; both are
// overwritten. Keys come in the order of their positions, so it is enough to sort by distance and
// keep the order of equal ones: digit by digit, from the last one on. Distances of gradients lie
// close together, so that few digits of their excess over the least distance are not zero.
func sortKeys(keys, spare []uint64) []uint64 {
	if len(keys) <= fewKeys {
		slices.Sort(keys)
		return keys
	}
	spare = spare[:len(keys)]
	least := slices.Min(keys) >> positionBits << positionBits
	span := slices.Max(keys) - least
	for shift := positionBits; span>>shift != 0; shift += digitBits {
		var next [1 << digitBits]int
		for _, key := range keys {
			next[(key-least)>>shift&(1<<digitBits-1)]++
		}
		begin := 0
		for digit, count := range next {
			next[digit], begin = begin, begin+count
		}
		for _, key := range keys {
			digit := (key - least) >> shift & (1<<digitBits - 1)
			spare[next[digit]] = key
			next[digit]++
		}
		keys, spare = spare, keys
	}
	return keys
}
