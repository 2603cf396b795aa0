//go:build !noasm

package gradients

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveGram and haveGramVEX are decided when the program runs, as haveAVX2 is.
var (
	haveGram    = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI
	haveGramVEX = cpu.X86.HasAVX2 && cpu.X86.HasAVXVNNI
)

// gramShift is added to the left side to make it unsigned.
const gramShift = 128

func (k kernel) shape() gramShape {
	if k == vexKernel {
		return gramShape{left: 3, right: 4, step: 32}
	}
	return gramShape{left: gramRows, right: gramRows, step: 64}
}

func (k kernel) gram(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32) {
	if k == vexKernel {
		gram8VEX(rows, off, steps, out)
	} else {
		gram8(rows, off, steps, out)
	}
}

func (k kernel) sums(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32) {
	if k == vexKernel {
		sums8VEX(rows, off, steps, out)
	} else {
		sums8(rows, off, steps, out)
	}
}

//go:noescape
func sums8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)

//go:noescape
func gram8VEX(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)

//go:noescape
func sums8VEX(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
