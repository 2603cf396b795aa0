//go:build (amd64 || arm64) && !noasm

package gradients

import "unsafe"

// inSteps runs a kernel over the whole steps of a chunk, then over a padded copy of the rest. A call of the kernel
// works on steps steps of step coordinates of the tile, from byte off of s.left and s.right on. Zeros everywhere add
// nothing to any distance or product, and nothing is ever read past the end of a row.
func (s *scratch) inSteps(lo, hi, step int, run func(off, steps int)) {
	s.left, s.right = sized(s.left, len(s.rows)), sized(s.right, len(s.cols))
	find(s.left, s.rows)
	find(s.right, s.cols)
	steps := (hi - lo) / step
	if steps > 0 {
		run(lo*int(s.rows[0].width), steps)
	}
	if lo += steps * step; lo == hi {
		return
	}
	s.tail = sized(s.tail, (len(s.rows)+len(s.cols))*tailBytes)
	clear(s.tail)
	pad(s.left, s.rows, s.tail, lo, hi)
	pad(s.right, s.cols, s.tail[len(s.rows)*tailBytes:], lo, hi)
	run(0, 1)
}

// find notes where the coordinates of vs begin.
func find(base []unsafe.Pointer, vs []Vector) {
	for i, v := range vs {
		if v.width == Int8 {
			base[i] = unsafe.Pointer(unsafe.SliceData(v.i8))
		} else {
			base[i] = unsafe.Pointer(unsafe.SliceData(v.i16))
		}
	}
}

// pad copies coordinates [lo, hi) of vs to tail and notes where the copies begin.
func pad(base []unsafe.Pointer, vs []Vector, tail []byte, lo, hi int) {
	for i, v := range vs {
		base[i] = unsafe.Pointer(&tail[i*tailBytes])
		if v.width == Int8 {
			copy(unsafe.Slice((*int8)(base[i]), hi-lo), v.i8[lo:hi])
		} else {
			copy(unsafe.Slice((*int16)(base[i]), hi-lo), v.i16[lo:hi])
		}
	}
}
