package gradients

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Encode returns the numerators, eight bytes each in little endian and two's complement. The payload does not have the
// length and the denominator, which follow from the epoch's rule and the included set. The encoding is canonical.
func (f Fraction) Encode() []byte {
	payload := make([]byte, 8*len(f.Num))
	putNumerators(payload, f.Num)
	return payload
}

func putNumerators(dst []byte, num []int64) {
	for i, n := range num {
		binary.LittleEndian.PutUint64(dst[8*i:8*i+8], uint64(n))
	}
}

// Digest returns the SHA-256 of Encode's result.
func (f Fraction) Digest() (digest [32]byte) {
	const most = 4096 // numerators at a time
	h, piece := sha256.New(), make([]byte, 8*min(most, len(f.Num)))
	for num := range slices.Chunk(f.Num, most) {
		putNumerators(piece, num)
		h.Write(piece[:8*len(num)])
	}
	h.Sum(digest[:0])
	return digest
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
