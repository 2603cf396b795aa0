package gradients

import (
	"encoding/binary"
	"fmt"
)

// Encode returns the numerators, eight bytes each, little endian, two's complement. Length and
// denominator follow from the epoch's rule and the included set, so the payload does not carry
// them, and it is canonical.
func (f Fraction) Encode() []byte {
	payload := make([]byte, 0, 8*len(f.Num))
	for _, num := range f.Num {
		payload = binary.LittleEndian.AppendUint64(payload, uint64(num))
	}
	return payload
}

// DecodeFraction is the inverse of Encode for an aggregate of d coordinates over denominator den,
// of vectors of width w.
//
// Errors: ErrWidth; ErrDenominator if den is outside [1, MaxDenominator]; ErrLength if d is outside
// [0, MaxDim] or payload is not exactly 8*d bytes; ErrRange if a numerator exceeds Max*den in
// magnitude, for no rule leaves the range of its inputs.
func DecodeFraction(w Width, d int, den int64, payload []byte) (Fraction, error) {
	if !w.Valid() {
		return Fraction{}, fmt.Errorf("gradients: %w: %d bytes, want 1 or 2", ErrWidth, uint8(w))
	}
	if den < 1 || den > MaxDenominator {
		return Fraction{}, fmt.Errorf("gradients: %w: %d, want 1 to %d", ErrDenominator, den, MaxDenominator)
	}
	if err := checkLength(d, 8, payload); err != nil {
		return Fraction{}, err
	}
	f := Fraction{Num: make([]int64, d), Den: den}
	bound := w.Max() * den // below 2^14 * 2^33
	for j := range f.Num {
		num := int64(binary.LittleEndian.Uint64(payload[8*j:]))
		if num < -bound || num > bound {
			return Fraction{}, fmt.Errorf("gradients: %w: numerator %d is %d, outside [%d, %d]", ErrRange, j, num, -bound, bound)
		}
		f.Num[j] = num
	}
	return f, nil
}
