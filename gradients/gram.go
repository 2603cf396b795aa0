//go:build (amd64 || arm64) && !noasm

package gradients

import "unsafe"

// gramRows is the number of rows that a kernel is given for either side of a block, and the most
// that one multiplies: 25 accumulators, five rows, one more and the shift are the 32 registers of
// AVX-512 and of NEON.
const gramRows = 5

// gramShape says how a Gram kernel works: it multiplies left rows by right ones, step coordinates
// at a time.
type gramShape struct{ left, right, step int }

// sweepGram adds up the products of a chunk: s.sum[i*n+j] grows by G(i, j), for i <= j and for some
// i > j, and s.norm[j] by the sum of row j, where G(i, j) is the sum of (a_k + gramShift) b_k over
// the coordinates a of row i and b of row j. polarise makes distances of it at the end.
func (s *scratch) sweepGram(vs []Vector, lo, hi int, k kernel) {
	s.inSteps(vs, lo, hi, k.shape().step, func(off, steps int) { s.grams(off, steps, k) })
}

// grams covers the upper triangle and the diagonal with blocks of rows. Where rows are missing, the
// last one stands in, and what it gives is dropped.
func (s *scratch) grams(off, steps int, k kernel) {
	var (
		rows [2 * gramRows]unsafe.Pointer
		out  [28]int32
		of   = k.shape()
	)
	for i := 0; i < s.n; i += of.left {
		for r := range gramRows {
			rows[r] = s.base[min(i+r, s.n-1)]
		}
		if gramShift != 0 {
			k.sums(&rows, off, steps, &out)
			for r := range min(of.left, s.n-i) {
				s.norm[i+r] += int64(out[r])
			}
		}
		for j := i; j < s.n; j += of.right {
			for r := range gramRows {
				rows[gramRows+r] = s.base[min(j+r, s.n-1)]
			}
			k.gram(&rows, off, steps, &out)
			for r := range min(of.left, s.n-i) {
				sum := s.sum[(i+r)*s.n:][j:min(j+of.right, s.n)]
				for c, q := range out[r*of.right:][:len(sum)] {
					sum[c] += int64(q)
				}
			}
		}
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
