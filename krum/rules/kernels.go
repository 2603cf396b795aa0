//go:build (amd64 || arm64) && !noasm

package rules

import "unsafe"

// The kernels, in kernel_amd64.s and kernel_arm64.s. A strip is stripBytes long and strips lie one
// after the other; the number in a kernel's name is the width of its lanes, signed integers, in
// bits. They need haveKernels. n and count are at least 1 except in the mix kernels.

// exchange puts, for each pair of offsets of strips in order, the lesser of each two lanes into the
// strip at the first offset and the greater into the other. pairs holds 2*count offsets.
//
//go:noescape
func exchange8(strips unsafe.Pointer, pairs *uint32, count int)

//go:noescape
func exchange16(strips unsafe.Pointer, pairs *uint32, count int)

//go:noescape
func exchange32(strips unsafe.Pointer, pairs *uint32, count int)

// spread writes a strip for each of n rows, from the data that begin off bytes into the row; lanes
// are as wide as the data, or twice as wide.
//
//go:noescape
func spreadSame(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)

//go:noescape
func spread8to16(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)

//go:noescape
func spread16to32(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)

// sum adds each lane of count strips to num. Lanes of 8 bits are added up in 16 bits, so count is
// at most narrowSum; those of 16 bits in 32, for any number of participants.
//
//go:noescape
func sum8(num *int64, strips unsafe.Pointer, count int)

//go:noescape
func sum16(num *int64, strips unsafe.Pointer, count int)

//go:noescape
func sum32(num *int64, strips unsafe.Pointer, count int)

// nearer is lanes.nearer.
//
//go:noescape
func nearer8(a, b, lo, hi unsafe.Pointer)

//go:noescape
func nearer16(a, b, lo, hi unsafe.Pointer)

//go:noescape
func nearer32(a, b, lo, hi unsafe.Pointer)

// mix writes the base plus (sign 0) or minus (sign -1) the sum of count strips, which members
// numbers. Lanes wrap around.
//
//go:noescape
func mix16(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)

//go:noescape
func mix32(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)

// mixHalf is mix32 for the first halves of strips of 16-bit lanes, whose sum must fit 16 bits: for
// int8 values count is at most narrowSum.
//
//go:noescape
func mixHalf(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
