//go:build !noasm

package gradients

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveAVX2 is decided when the program runs, so that one binary serves every amd64 machine.
var haveAVX2 = cpu.X86.HasAVX2

func (s *scratch) sweepAVX2(lo, hi int) {
	w, step := s.rows[0].width, 16 // coordinates a step: 16 bytes of int8
	if w == Int16 {
		step = 32 // 64 bytes of int16
	}
	s.inSteps(lo, hi, step, func(off, steps int) { s.blocks(w, off, steps) })
}

// blocks covers the tile with blocks of 3 x 3 rows, triangles of 3 rows on the diagonal, and fans of 3 rows against one
// for the columns that are left if their number is no multiple of 3. The number of rows is such a multiple, except in a
// triangle, whose last one or two rows are then left. off is in bytes.
func (s *scratch) blocks(w Width, off, steps int) {
	n := len(s.right)
	whole := n - n%3
	var rows [6]unsafe.Pointer
	for i := 0; i+3 <= len(s.left); i += 3 {
		copy(rows[:3], s.left[i:])
		j := 0
		if s.triangle {
			s.corner(w, &rows, off, steps, i)
			j = i + 3
		}
		for ; j < whole; j += 3 {
			copy(rows[3:], s.right[j:j+3])
			s.block(w, &rows, off, steps, i, j)
		}
		for ; j < n; j++ {
			rows[3] = s.right[j]
			s.fan(w, &rows, off, steps, i, j, 3)
		}
	}
	if s.triangle && n-whole == 2 { // the last two rows against each other
		last := s.right[n-1]
		rows = [6]unsafe.Pointer{s.left[whole], last, last, last}
		s.fan(w, &rows, off, steps, whole, n-1, 1)
	}
}

func (s *scratch) block(w Width, rows *[6]unsafe.Pointer, off, steps, i, j int) {
	var out [9]int64
	if w == Int8 {
		block8(rows, off, steps, &out)
	} else {
		block16(rows, off, steps, &out)
	}
	for r := range 3 {
		sum := s.sum[(i+r)*len(s.right)+j:][:3]
		sum[0] += out[3*r]
		sum[1] += out[3*r+1]
		sum[2] += out[3*r+2]
	}
}

func (s *scratch) corner(w Width, rows *[6]unsafe.Pointer, off, steps, i int) {
	var out [3]int64
	if w == Int8 {
		triangle8(rows, off, steps, &out)
	} else {
		triangle16(rows, off, steps, &out)
	}
	n := len(s.right)
	s.sum[i*n+i+1] += out[0]
	s.sum[i*n+i+2] += out[1]
	s.sum[(i+1)*n+i+2] += out[2]
}

// fan keeps the distances of row j to the first keep of rows i, i+1, i+2.
func (s *scratch) fan(w Width, rows *[6]unsafe.Pointer, off, steps, i, j, keep int) {
	var out [3]int64
	if w == Int8 {
		fan8(rows, off, steps, &out)
	} else {
		fan16(rows, off, steps, &out)
	}
	for r := range keep {
		s.sum[(i+r)*len(s.right)+j] += out[r]
	}
}

// The kernels, in kernel_int8_amd64.s and kernel_int16_amd64.s. Each reads steps steps of its rows,
// 16 bytes a step for int8 and 64 bytes for int16, from byte off on, and writes squared distances:
//
//	block:    out[3*i+j] = |rows[i] - rows[3+j]|^2   for i, j < 3
//	triangle: out = |rows[0]-rows[1]|^2, |rows[0]-rows[2]|^2, |rows[1]-rows[2]|^2
//	fan:      out[i] = |rows[i] - rows[3]|^2         for i < 3
//
// They need AVX2 and steps >= 1. An int8 kernel needs steps <= chunk/16 for its 32-bit lanes.

//go:noescape
func block8(rows *[6]unsafe.Pointer, off, steps int, out *[9]int64)

//go:noescape
func triangle8(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)

//go:noescape
func fan8(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)

//go:noescape
func block16(rows *[6]unsafe.Pointer, off, steps int, out *[9]int64)

//go:noescape
func triangle16(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)

//go:noescape
func fan16(rows *[6]unsafe.Pointer, off, steps int, out *[3]int64)
