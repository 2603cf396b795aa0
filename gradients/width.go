package gradients

import "fmt"

// Width is the number of bytes of one coordinate, on the wire and in memory.
type Width uint8

// The widths of the grid. Int8 is the default for noised gradients (step = the noise's standard
// deviation / 8); Int16 serves models that are trained without noise.
const (
	Int8  Width = 1
	Int16 Width = 2
)

// The overflow proof in doc.go needs these bounds. Genesis validation rejects larger values.
const (
	// MaxDim is the largest number of coordinates of a vector.
	MaxDim = 1 << 21
	// MaxParticipants is the largest number of vectors of a round.
	MaxParticipants = 4096
)

// Valid reports whether w is one of the widths above.
func (w Width) Valid() bool { return w == Int8 || w == Int16 }

// Max returns the largest magnitude of a coordinate, in grid steps: a coordinate lies in [-Max, Max].
//
// The range is symmetric, so that negating a vector never overflows. Int16 stops at 16383 rather than 32767 so that a
// difference of two coordinates still fits int16, and the sum of two squared differences int32: what VPMADDWD needs.
//
// Max panics if w is invalid.
func (w Width) Max() int64 {
	switch w {
	case Int8:
		return 127
	case Int16:
		return 16383
	}
	panic(fmt.Sprintf("gradients: width %d is neither 1 nor 2 bytes", uint8(w)))
}

// String names the width as genesis files and benchmarks do.
func (w Width) String() string {
	switch w {
	case Int8:
		return "int8"
	case Int16:
		return "int16"
	}
	return fmt.Sprintf("Width(%d)", uint8(w))
}
