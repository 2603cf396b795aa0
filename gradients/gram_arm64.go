//go:build !noasm

package gradients

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveGram is decided when the program runs: SDOT came with ARMv8.2 as an option.
var haveGram = cpu.ARM64.HasASIMDDP

const (
	haveGramVEX = false
	gramShift   = 0 // both sides are signed
)

func (kernel) shape() gramShape { return gramShape{left: gramRows, right: gramRows, step: 16} }

func (kernel) gram(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32) {
	gram8(rows, off, steps, out)
}

func (kernel) sums(*[10]unsafe.Pointer, int, int, *[28]int32) {} // nothing is shifted
