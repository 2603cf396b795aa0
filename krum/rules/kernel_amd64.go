//go:build !noasm

package rules

import "golang.org/x/sys/cpu"

// haveKernels is decided at run time, so that one binary serves every amd64 machine.
var haveKernels = cpu.X86.HasAVX2
