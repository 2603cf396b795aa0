package gradients

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Encode returns the payload of the vector: one byte a coordinate for Int8 (two's complement), two bytes in little
// endian for Int16. The payload does not have the width and the length, because the chain and not the sender decides
// them. The encoding is canonical: Decode accepts exactly one payload for each vector.
func (v Vector) Encode() []byte {
	if v.width == Int8 {
		payload := make([]byte, len(v.i8))
		for i, q := range v.i8 {
			payload[i] = byte(q)
		}
		return payload
	}
	payload := make([]byte, 2*len(v.i16))
	for i, q := range v.i16 {
		binary.LittleEndian.PutUint16(payload[2*i:2*i+2], uint16(q))
	}
	return payload
}

// Decode is the inverse of Encode for a vector of d coordinates. The result shares no memory with payload.
//
// Errors: ErrWidth if w is not a width; ErrLength if d is outside [0, MaxDim] or payload is not exactly d*w bytes;
// ErrRange if a coordinate is outside [-Max, Max], which for Int8 is the single value -128.
func Decode(w Width, d int, payload []byte) (Vector, error) {
	if !w.Valid() {
		return Vector{}, fmt.Errorf("gradients: %w: %d bytes, want 1 or 2", ErrWidth, uint8(w))
	}
	if err := checkLength(d, int(w), payload); err != nil {
		return Vector{}, err
	}
	v := NewVector(w, d)
	if w == Int8 {
		for i, b := range payload {
			v.i8[i] = int8(b)
		}
		if i := slices.Index(v.i8, -128); i >= 0 {
			return Vector{}, fmt.Errorf("gradients: %w: coordinate %d is -128, outside [-127, 127]", ErrRange, i)
		}
		return v, nil
	}
	var most uint16
	for i := range v.i16 {
		q := binary.LittleEndian.Uint16(payload[2*i : 2*i+2])
		v.i16[i] = int16(q)
		most = max(most, q+16383) // at most 2*16383 within the range, and above it wherever q is outside
	}
	if most <= 2*16383 {
		return v, nil
	}
	if i := offGrid16(v.i16); i >= 0 {
		return Vector{}, fmt.Errorf("gradients: %w: coordinate %d is %d, outside [-16383, 16383]", ErrRange, i, v.i16[i])
	}
	return v, nil
}

// checkLength returns an error unless a payload has d times size bytes and d is within bounds.
func checkLength(d, size int, payload []byte) error {
	if d < 0 || d > MaxDim {
		return fmt.Errorf("gradients: %w: %d coordinates, want 0 to %d", ErrLength, d, MaxDim)
	}
	if len(payload) != d*size {
		return fmt.Errorf("gradients: %w: payload of %d bytes, want %d for %d coordinates", ErrLength, len(payload), d*size,
			d)
	}
	return nil
}
