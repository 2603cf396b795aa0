//go:build !amd64 || noasm

package gradients

// There is no assembly: the twin does all the work.
const haveAVX2, haveVNNI = false, false

func (s *scratch) sweepAVX2([]Vector, int, int) { panic("gradients: built without assembly") }

func (s *scratch) sweepGram([]Vector, int, int) { panic("gradients: built without assembly") }
