package gradients

import (
	"cmp"
	"fmt"
	"math/bits"
)

// MaxDenominator bounds a Fraction's denominator. A rule averages at most MaxParticipants vectors or weighs them in
// multiples of 2^-20, each is itself a sum of at most MaxParticipants, and a median may average two.
const MaxDenominator = 2 * MaxParticipants << 20

// Fraction is an aggregate Delta in grid steps: coordinate j is Num[j]/Den, exactly. The common denominator is kept
// apart rather than divided out, so that no aggregate is ever rounded.
type Fraction struct {
	Num []int64
	Den int64 // in [1, MaxDenominator]
}

// Dot returns the sign of <v, Num>, which is that of <v, Delta>: -1, 0 or 1. The angle between v and Delta exceeds pi/2
// exactly if it is -1. No numerators can make it overflow. It panics if the lengths differ.
func (f Fraction) Dot(v Vector) (sign int) {
	if v.Len() != len(f.Num) {
		panic(fmt.Sprintf("gradients: dot product of %d numerators and %d coordinates", len(f.Num), v.Len()))
	}
	if len(f.Num) == 0 {
		return 0
	}
	var largest uint64
	for _, num := range f.Num {
		largest = max(largest, magnitude(num))
	}
	// Of a sum of d terms that are at most largest*Max each, no partial sum leaves int64 if d*Max*largest does not.
	if hi, lo := bits.Mul64(largest, uint64(v.width.Max())*uint64(v.Len())); hi == 0 && lo < 1<<63 {
		var sum int64
		if v.width == Int8 {
			sum = dotNum(f.Num, v.i8)
		} else {
			sum = dotNum(f.Num, v.i16)
		}
		return cmp.Compare(sum, 0)
	}
	return f.dotWide(v)
}

// dotWide is Dot for any numerators: positive and negative terms are summed apart in 128 bits. A term is below
// 2^63 * 2^14, and there are at most 2^21, so that 98 bits suffice.
func (f Fraction) dotWide(v Vector) (sign int) {
	var pos, neg struct{ hi, lo uint64 }
	for j, num := range f.Num {
		q := v.At(j)
		hi, lo := bits.Mul64(magnitude(num), magnitude(q))
		sum := &pos
		if (num < 0) != (q < 0) {
			sum = &neg
		}
		var carry uint64
		sum.lo, carry = bits.Add64(sum.lo, lo, 0)
		sum.hi += hi + carry
	}
	switch {
	case pos == neg:
		return 0
	case pos.hi > neg.hi || pos.hi == neg.hi && pos.lo > neg.lo:
		return 1
	}
	return -1
}

// Within reports whether |f_j - o_j| <= tolerance for every coordinate, in grid steps, that is |f.Num[j] - o.Num[j]| <=
// tolerance*Den; if not, j is the first coordinate that fails, else -1. It holds for any numerators, hostile ones
// included: nothing overflows.
//
// It panics if lengths or denominators differ or tolerance is negative: o is decoded with the length and the
// denominator of f, see DecodeFraction.
func (f Fraction) Within(o Fraction, tolerance int64) (j int, ok bool) {
	if len(f.Num) != len(o.Num) || f.Den != o.Den || f.Den < 1 || tolerance < 0 {
		panic(fmt.Sprintf("gradients: compare %d/%d with %d/%d (coordinates/denominator), tolerance %d",
			len(f.Num), f.Den, len(o.Num), o.Den, tolerance))
	}
	hi, bound := bits.Mul64(uint64(tolerance), uint64(f.Den))
	if hi > 0 {
		return -1, true // two int64 differ by less than 2^64
	}
	for j, num := range f.Num {
		// The difference of two int64 fits uint64 if the smaller is taken from the larger.
		gap := uint64(num) - uint64(o.Num[j])
		if num < o.Num[j] {
			gap = -gap
		}
		if gap > bound {
			return j, false
		}
	}
	return -1, true
}

// magnitude is |x|, also of the smallest int64.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func dotNum[E int8 | int16](num []int64, v []E) (s int64) {
	v = v[:len(num)]
	for j, x := range num {
		s += x * int64(v[j])
	}
	return s
}
