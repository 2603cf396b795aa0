//go:build (amd64 || arm64) && !noasm

package gradients

import "unsafe"

// inSteps runs a kernel, of which a call works on steps steps of step coordinates of all rows from
// byte off of s.base on, over the whole steps of a chunk, then over a padded copy of what is left:
// zeros in all rows add nothing to any distance or product, and nothing is ever read past the end
// of a row.
func (s *scratch) inSteps(vs []Vector, lo, hi, step int, run func(off, steps int)) {
	w := vs[0].width
	s.base = sized(s.base, s.n)
	for i, v := range vs {
		if w == Int8 {
			s.base[i] = unsafe.Pointer(unsafe.SliceData(v.i8))
		} else {
			s.base[i] = unsafe.Pointer(unsafe.SliceData(v.i16))
		}
	}
	steps := (hi - lo) / step
	if steps > 0 {
		run(lo*int(w), steps)
	}
	if lo += steps * step; lo == hi {
		return
	}
	s.tail = sized(s.tail, s.n*tailBytes)
	clear(s.tail)
	for i, v := range vs {
		row := unsafe.Pointer(&s.tail[i*tailBytes])
		if w == Int8 {
			copy(unsafe.Slice((*int8)(row), step), v.i8[lo:hi])
		} else {
			copy(unsafe.Slice((*int16)(row), step), v.i16[lo:hi])
		}
		s.base[i] = row
	}
	run(0, 1)
}
