package krum

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// positionBits is the number of bits that hold a position, which is below
// gradients.MaxParticipants. They share a word with a distance.
const positionBits = 12

// Nearest returns for each vector the positions of its q nearest other vectors, nearest first, with
// ties decided by position. A distance below floor counts as floor. Nearest panics if q is negative
// or there are fewer than q other vectors.
func Nearest(d *gradients.Distances, q int, floor int64) [][]int {
	n := d.Len()
	if q < 0 || n > 0 && q > n-1 {
		panic(fmt.Sprintf("krum: %d nearest others among %d vectors", q, n))
	}
	near, all := make([][]int, n), make([]int, n*q)
	for i := range near {
		near[i] = all[i*q : (i+1)*q : (i+1)*q]
	}
	const rows = 16 // vectors that share room for keys
	gradients.InParallel((n+rows-1)/rows, 8*rows*n, func(block int) {
		keys, spare := make([]uint64, 0, n), make([]uint64, n)
		for i := block * rows; i < min((block+1)*rows, n); i++ {
			nearest(near[i], d.Row(i), i, floor, keys, spare)
		}
	})
	return near
}

// nearest writes the positions of the len(near) vectors nearest to vector i into near. row holds
// the distances of vector i. keys and spare have room for all other vectors.
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

// appendKeys appends one word for each other vector; the order of the words is the order of distances, then of
// positions. Words sort faster than pairs. It stops at a distance that is not narrow, for which a word has no room.
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

// digitBits is the number of bits of a word that sortKeys sorts by at a time. fewKeys is the number
// of words up to which sorting by comparison is faster. Both were measured.
const (
	digitBits = 8
	fewKeys   = 64
)

// sortKeys returns the keys in ascending order, in their own array or in spare's; it overwrites
// both. Keys arrive in the order of their positions, so it is enough to sort stably by distance:
// digit by digit, from the last digit on. Distances of gradients are close together, so that only
// few digits of their excess over the lowest distance are not zero.
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
