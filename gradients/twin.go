package gradients

import "math/bits"

// panelWords is the number of packed words, of two coordinates each, that the twin works on at a
// time: thirty rows of it fill a 32 kB level 1 cache.
const panelWords = 128

// panel is one packed row.
type panel = [panelWords]uint64

// sweepTwin is the portable kernel. Its trick is to multiply two coordinates at once.
//
// Coordinates are shifted to u = q + Max, from 0 to 2 Max, which changes no distance, and packed as u0 + u1*2^32. The
// product of such a word with the rotated word v1 + v0*2^32 of another row is, modulo 2^64,
//
//	u0*v1 + (u0*v0 + u1*v1)*2^32
//
// so its upper half is the dot product of two coordinates, provided that no half overflows. Two such products may be
// added before the upper half is taken: 2*2*(2*16383)^2 = 4294443024 < 2^32. The squared distance follows from |u|^2 +
// |v|^2 - 2<u, v>; in integers that is exact, so the cancellation that spoils it in floating point is absent.
func (s *scratch) sweepTwin(lo, hi int) {
	cols := 0 // the panel of column 0: of a triangle rows are columns
	if !s.triangle {
		cols = len(s.rows) + len(s.rows)%2
	}
	s.packed = sized(s.packed, (cols+len(s.cols)+len(s.cols)%2)*panelWords)
	for ; lo < hi; lo += 2 * panelWords {
		to := min(lo+2*panelWords, hi)
		s.packAll(0, s.rows, lo, to)
		if !s.triangle {
			s.packAll(cols, s.cols, lo, to)
		}
		for i := 0; i < len(s.rows); i += 2 {
			j := 0
			if s.triangle {
				s.add(i, i+1, cols, dot1(s.panel(i), s.panel(i+1)))
				j = i + 2
			}
			for ; j < len(s.cols); j += 2 {
				d00, d01, d10, d11 := dot4(s.panel(i), s.panel(i+1), s.panel(cols+j), s.panel(cols+j+1))
				s.add(i, j, cols, d00)
				s.add(i, j+1, cols, d01)
				s.add(i+1, j, cols, d10)
				s.add(i+1, j+1, cols, d11)
			}
		}
	}
}

// packAll packs coordinates [lo, hi) of vs into the panels from number at on. An odd last row is
// paired with one that no result is kept of.
func (s *scratch) packAll(at int, vs []Vector, lo, hi int) {
	for i, v := range vs {
		if v.width == Int8 {
			s.norm[at+i] = pack(s.panel(at+i), v.i8[lo:hi], 127)
		} else {
			s.norm[at+i] = pack(s.panel(at+i), v.i16[lo:hi], 16383)
		}
	}
	if len(vs)%2 > 0 {
		clear(s.panel(at + len(vs))[:])
	}
}

// panel returns packed row i.
func (s *scratch) panel(i int) *panel { return (*panel)(s.packed[i*panelWords:]) }

// add turns the dot product of row i and column j, whose panels are i and cols+j, into their
// squared distance and adds it to the sum, unless either only fills up the last pair.
func (s *scratch) add(i, j, cols int, dot uint64) {
	if i < len(s.rows) && j < len(s.cols) {
		s.sum[i*len(s.cols)+j] += s.norm[i] + s.norm[cols+j] - 2*int64(dot)
	}
}

// pack writes the coordinates of q, at most 2*panelWords of them, each plus bias, and zeros after
// them. It returns their squared norm.
func pack[E int8 | int16](dst *panel, q []E, bias int64) int64 {
	if len(q) < 2*panelWords {
		var padded [2 * panelWords]E
		for k := copy(padded[:], q); k < len(padded); k++ {
			padded[k] = E(-bias) // becomes the zero
		}
		q = padded[:]
	}
	row := (*[2 * panelWords]E)(q) // of known length, so that the loop has no bounds checks
	var s0, s1 int64
	for k := range dst {
		x, y := int64(row[2*k])+bias, int64(row[2*k+1])+bias
		dst[k] = uint64(x | y<<32)
		s0 += x * x
		s1 += y * y
	}
	return s0 + s1
}

// dot1 returns the dot product of two packed rows.
func dot1(a, b *panel) (s uint64) {
	for k := 0; k < panelWords; k += 2 {
		s += (a[k]*bits.RotateLeft64(b[k], 32) + a[k+1]*bits.RotateLeft64(b[k+1], 32)) >> 32
	}
	return s
}

// dot4 returns the dot products of two packed rows with two others. Four sums and four rows are as many as the sixteen
// registers of amd64 hold without spilling, which costs more than the loads that larger blocks would save.
func dot4(a0, a1, b0, b1 *panel) (s00, s01, s10, s11 uint64) {
	for k := 0; k < panelWords; k += 2 {
		x, y := bits.RotateLeft64(b0[k], 32), bits.RotateLeft64(b0[k+1], 32)
		s00 += (a0[k]*x + a0[k+1]*y) >> 32
		s10 += (a1[k]*x + a1[k+1]*y) >> 32
		x, y = bits.RotateLeft64(b1[k], 32), bits.RotateLeft64(b1[k+1], 32)
		s01 += (a0[k]*x + a0[k+1]*y) >> 32
		s11 += (a1[k]*x + a1[k+1]*y) >> 32
	}
	return s00, s01, s10, s11
}
