//go:build (!amd64 && !arm64) || noasm

package gradients

// There is no assembly: the twin does all the work.
const (
	haveGram    = false
	haveGramVEX = false
	gramShift   = 0
)

func (s *scratch) sweepGram(int, int, kernel) {
	panic("gradients: built without assembly")
}
