//go:build !noasm

package rules

// haveKernels is true: every arm64 has NEON.
const haveKernels = true
