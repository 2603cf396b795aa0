//go:build (!amd64 && !arm64) || noasm

package rules

// haveKernels is false where there is no assembly: the twin does all the work.
const haveKernels = false

func (m *middle) wideBlock([]int64, int) { panic("rules: built without assembly") }

func (m *middle) prepare(int64) { panic("rules: built without assembly") }
