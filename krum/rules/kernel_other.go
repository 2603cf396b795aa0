//go:build (!amd64 && !arm64) || noasm

package rules

// haveKernels is false because there is no assembly for this CPU: the pure-Go twin does all the work.
const haveKernels = false

func (m *middle) wideBlock([]int64, int) { panic("rules: built without assembly") }

func (m *middle) prepare(int64) { panic("rules: built without assembly") }
