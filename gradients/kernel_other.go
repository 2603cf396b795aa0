//go:build !amd64 || noasm

package gradients

// haveAVX2 is false where there is none.
const haveAVX2 = false

func (s *scratch) sweepAVX2(int, int) { panic("gradients: built without AVX2") }
