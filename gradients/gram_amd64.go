//go:build !noasm

package gradients

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveGram is decided when the program runs, as haveAVX2 is.
var haveGram = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI

const (
	gramStep  = 64  // coordinates that an instruction multiplies
	gramShift = 128 // what makes the left side unsigned
)

//go:noescape
func sums8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
