//go:build (amd64 || arm64) && !noasm

package gradients

import "unsafe"

// gramRows is the number of rows on either side of a block of the Gram kernel: 25 accumulators,
// five rows, one more and the shift are the 32 registers of AVX-512 and of NEON.
const gramRows = 5

// sweepGram adds up the products of a chunk: s.sum[i*n+j] grows by G(i, j), for i <= j and for some
// i > j, and s.norm[j] by the sum of row j, where G(i, j) is the sum of (a_k + gramShift) b_k over
// the coordinates a of row i and b of row j. polarise makes distances of it at the end.
func (s *scratch) sweepGram(vs []Vector, lo, hi int) {
	const step = gramStep
	s.base = sized(s.base, s.n)
	for i, v := range vs {
		s.base[i] = unsafe.Pointer(unsafe.SliceData(v.i8))
	}
	steps := (hi - lo) / step
	if steps > 0 {
		s.grams(lo, steps)
	}
	if lo += steps * step; lo == hi {
		return
	}
	s.tail = sized(s.tail, s.n*tailBytes)
	clear(s.tail)
	for i, v := range vs {
		s.base[i] = unsafe.Pointer(&s.tail[i*tailBytes])
		copy(unsafe.Slice((*int8)(s.base[i]), step), v.i8[lo:hi])
	}
	s.grams(0, 1)
}

// grams covers the upper triangle and the diagonal with blocks of 5 x 5 rows. Where rows are
// missing, the last one stands in, and what it gives is dropped.
func (s *scratch) grams(off, steps int) {
	var (
		rows [2 * gramRows]unsafe.Pointer
		out  [28]int32
	)
	for i := 0; i < s.n; i += gramRows {
		for k := range gramRows {
			rows[k] = s.base[min(i+k, s.n-1)]
		}
		if gramShift != 0 {
			sums8(&rows, off, steps, &out)
			for k := range min(gramRows, s.n-i) {
				s.norm[i+k] += int64(out[k])
			}
		}
		for j := i; j < s.n; j += gramRows {
			for k := range gramRows {
				rows[gramRows+k] = s.base[min(j+k, s.n-1)]
			}
			gram8(&rows, off, steps, &out)
			for r := range min(gramRows, s.n-i) {
				sum := s.sum[(i+r)*s.n:][j:min(j+gramRows, s.n)]
				for k, q := range out[r*gramRows:][:len(sum)] {
					sum[k] += int64(q)
				}
			}
		}
	}
}

// The kernels, in gram_amd64.s and gram_arm64.s. Each reads steps steps of gramStep bytes of its
// rows from byte off on.
//
//	gram8: out[5*i+j] = sum of (a_k + gramShift) b_k for a = rows[i], b = rows[5+j], i, j < 5
//	sums8: out[i] = sum of a_k for a = rows[i], i < 5
//
// They need haveGram, and 1 <= steps <= gramChunk/gramStep for their 32-bit lanes.

//go:noescape
func gram8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
