package gradients

import (
	"fmt"
	"slices"
)

// Vector is one gradient on the grid: Len coordinates of one Width, each in [-Max, Max].
//
// It is a view like a slice: a copy of a Vector shares its coordinates. By convention only the
// creator of a vector writes it (Set, Quantize), before it passes the vector on; all other code
// only reads. The zero Vector has no width and is not valid.
type Vector struct {
	width Width
	i8    []int8  // the coordinates if width is Int8, else nil
	i16   []int16 // the coordinates if width is Int16, else nil
}

// NewVector returns the zero vector of d coordinates. It panics if w is invalid or d outside [0, MaxDim].
func NewVector(w Width, d int) Vector {
	if !w.Valid() || d < 0 || d > MaxDim {
		panic(fmt.Sprintf("gradients: no %v vector of %d coordinates (at most %d)", w, d, MaxDim))
	}
	if w == Int8 {
		return Vector{width: Int8, i8: make([]int8, d)}
	}
	return Vector{width: Int16, i16: make([]int16, d)}
}

// FromInt8 wraps q without copying it. It panics if q is longer than MaxDim or holds -128, which is off the grid.
func FromInt8(q []int8) Vector {
	if len(q) > MaxDim {
		panic(fmt.Sprintf("gradients: %d coordinates, at most %d", len(q), MaxDim))
	}
	if i := slices.Index(q, -128); i >= 0 {
		panic(fmt.Sprintf("gradients: coordinate %d is -128, outside [-127, 127]", i))
	}
	return Vector{width: Int8, i8: q}
}

// offGrid16 returns the first position of q whose value is outside [-16383, 16383], or -1.
func offGrid16(q []int16) int {
	return slices.IndexFunc(q, func(x int16) bool { return x < -16383 || x > 16383 })
}

// Width returns the vector's width, 0 for the zero Vector.
func (v Vector) Width() Width { return v.width }

// Len returns the number of coordinates.
func (v Vector) Len() int { return max(len(v.i8), len(v.i16)) }

// At returns coordinate i in grid steps. It panics if i is out of range.
func (v Vector) At(i int) int64 {
	if v.width == Int8 {
		return int64(v.i8[i])
	}
	return int64(v.i16[i])
}

// Set writes coordinate i. It panics if i is out of range or q outside [-Max, Max].
func (v Vector) Set(i int, q int64) {
	if limit := v.width.Max(); q < -limit || q > limit {
		panic(fmt.Sprintf("gradients: coordinate %d set to %d, outside [%d, %d]", i, q, -limit, limit))
	}
	if v.width == Int8 {
		v.i8[i] = int8(q)
	} else {
		v.i16[i] = int16(q)
	}
}

// Equal reports whether both vectors have the same width, length and coordinates.
func (v Vector) Equal(o Vector) bool {
	return v.width == o.width && slices.Equal(v.i8, o.i8) && slices.Equal(v.i16, o.i16)
}

// Int8s returns the coordinates themselves, to be read only, or nil if the width is not Int8. Rules
// that walk columns use it instead of At.
func (v Vector) Int8s() []int8 { return v.i8 }

// Int16s returns the coordinates themselves, to be read only, or nil if the width is not Int16.
func (v Vector) Int16s() []int16 { return v.i16 }

// Shape returns the width and length that all of vs share. It panics if vs is empty, holds more
// than MaxParticipants vectors, or two of them differ.
func Shape(vs []Vector) (w Width, d int) {
	if len(vs) == 0 || len(vs) > MaxParticipants {
		panic(fmt.Sprintf("gradients: %d vectors, want 1 to %d", len(vs), MaxParticipants))
	}
	w, d = vs[0].width, vs[0].Len()
	if !w.Valid() {
		panic("gradients: vector 0 is the zero Vector")
	}
	for i, v := range vs {
		if v.width != w || v.Len() != d {
			panic(fmt.Sprintf("gradients: vector %d is %v of %d, vector 0 is %v of %d", i, v.width, v.Len(), w, d))
		}
	}
	return w, d
}
