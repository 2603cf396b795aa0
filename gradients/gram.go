//go:build (amd64 || arm64) && !noasm

package gradients

import "unsafe"

// gramRows is the number of rows that a kernel is given for either side of a block, and the max number that one
// multiplies: 25 accumulators, five rows, one more and the shift are the 32 registers of AVX-512 and of NEON.
const gramRows = 5

// gramShape says how a Gram kernel works: it multiplies left rows by right ones, step coordinates at a time.
type gramShape struct{ left, right, step int }

// sweepGram adds up the products of a chunk: s.sum grows by G(i, j), of a triangle for i <= j and for some i > j, and
// s.norm[j] by the sum of column j, where G(i, j) is the sum of (a_k + gramShift) b_k over the coordinates a of row i
// and b of column j. polarise makes distances of it at the end.
func (s *scratch) sweepGram(lo, hi int, k kernel) {
	s.inSteps(lo, hi, k.shape().step, func(off, steps int) { s.grams(off, steps, k) })
}

// grams covers the tile with blocks of rows and columns. The last row or column stands in for
// missing ones, and its results are dropped.
func (s *scratch) grams(off, steps int, k kernel) {
	var (
		rows [2 * gramRows]unsafe.Pointer
		out  [28]int32
		of   = k.shape()
	)
	for j := 0; j < len(s.right) && !s.triangle; j += of.left {
		s.columnSums(j, off, steps, k)
	}
	for i := 0; i < len(s.left); i += of.left {
		first := 0
		if s.triangle {
			first = i
			s.columnSums(i, off, steps, k) // row i is about to be read anyway
		}
		gather(rows[:gramRows], s.left, i)
		for j := first; j < len(s.right); j += of.right {
			gather(rows[gramRows:], s.right, j)
			k.gram(&rows, off, steps, &out)
			for r := range min(of.left, len(s.left)-i) {
				sum := s.sum[(i+r)*len(s.right):][j:min(j+of.right, len(s.right))]
				for c, q := range out[r*of.right:][:len(sum)] {
					sum[c] += int64(q)
				}
			}
		}
	}
}

// columnSums adds the sums of as many columns as a block has rows, from column j on, to s.norm.
func (s *scratch) columnSums(j, off, steps int, k kernel) {
	if gramShift == 0 {
		return
	}
	var (
		rows [2 * gramRows]unsafe.Pointer
		out  [28]int32
	)
	gather(rows[:gramRows], s.right, j)
	gather(rows[gramRows:], s.right, j)
	k.sums(&rows, off, steps, &out)
	for c := range min(k.shape().left, len(s.right)-j) {
		s.norm[j+c] += int64(out[c])
	}
}

// gather fills rows with the rows of base from i on.
func gather(rows, base []unsafe.Pointer, i int) {
	for r := range rows {
		rows[r] = base[min(i+r, len(base)-1)]
	}
}

// The kernels, in gram_amd64.s, gram_vex_amd64.s and gram_arm64.s. With the numbers of their shape,
// each reads steps steps of its rows from byte off on:
//
//	gram: out[right*i+j] = sum of (a_k + gramShift) b_k for a = rows[i], b = rows[5+j],
//	                       i < left, j < right
//	sums: out[i] = sum of a_k for a = rows[i], i < left
//
// They need haveGram or haveGramVEX, and 1 <= steps <= gramChunk/step for their 32-bit lanes.

//go:noescape
func gram8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
