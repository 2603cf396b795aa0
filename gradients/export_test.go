package gradients

import "fmt"

// FromInt16 wraps q without copying it. It panics if q is longer than MaxDim or leaves [-16383, 16383].
func FromInt16(q []int16) Vector {
	if len(q) > MaxDim {
		panic(fmt.Sprintf("gradients: %d coordinates, at most %d", len(q), MaxDim))
	}
	if i := offGrid16(q); i >= 0 {
		panic(fmt.Sprintf("gradients: coordinate %d is %d, outside [-16383, 16383]", i, q[i]))
	}
	return Vector{width: Int16, i16: q}
}
