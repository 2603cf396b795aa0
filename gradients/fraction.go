package gradients

import (
	"fmt"
	"math/big"
	"math/bits"
)

// MaxDenominator bounds a Fraction's denominator. It has three factors: a rule averages at most
// MaxParticipants vectors or weighs them in multiples of 2^-20; each of these is a sum of at most
// MaxParticipants vectors; and a median may average two.
const MaxDenominator = 2 * MaxParticipants << 20

// Fraction is an aggregate Delta in grid steps: coordinate j is exactly Num[j]/Den. Numerators are
// not divided by the common denominator, so that no aggregate is ever rounded.
type Fraction struct {
	Num []int64
	Den int64 // in [1, MaxDenominator]
}

// Dot returns <v, Num>, which is exactly Den times <v, Delta>. It is negative if and only if the
// angle between v and Delta exceeds pi/2. It panics if the lengths differ.
func (f Fraction) Dot(v Vector) *big.Int {
	if v.Len() != len(f.Num) {
		panic(fmt.Sprintf("gradients: dot product of %d numerators and %d coordinates", len(f.Num), v.Len()))
	}
	if len(f.Num) == 0 {
		return new(big.Int)
	}
	var largest uint64
	for _, num := range f.Num {
		largest = max(largest, magnitude(num))
	}
	// If d*Max*largest fits int64, so does every partial sum of d terms of at most largest*Max each.
	if hi, lo := bits.Mul64(largest, uint64(v.width.Max())*uint64(v.Len())); hi == 0 && lo < 1<<63 {
		if v.width == Int8 {
			return big.NewInt(dotNum(f.Num, v.i8))
		}
		return big.NewInt(dotNum(f.Num, v.i16))
	}
	sum, term := new(big.Int), new(big.Int)
	for j, num := range f.Num {
		sum.Add(sum, term.Mul(term.SetInt64(num), big.NewInt(v.At(j))))
	}
	return sum
}

// Opposes reports whether v points against Delta by more than a share, in parts per million, of a squared norm: exactly
// whether <v, Delta> < -share/10^6 * square. With share 0 that is an angle above pi/2.
func (f Fraction) Opposes(v Vector, share, square int64) bool {
	dot := f.Dot(v)
	dot.Mul(dot, big.NewInt(1_000_000))
	bound := big.NewInt(-share)
	bound.Mul(bound, big.NewInt(square)).Mul(bound, big.NewInt(f.Den))
	return dot.Cmp(bound) < 0
}

// Within reports whether |f_j - o_j| <= tolerance for every coordinate, in grid steps, that is
// |f.Num[j] - o.Num[j]| <= tolerance*Den. If not, j is the first coordinate that fails, and
// otherwise -1. The result is correct for arbitrary numerators, because nothing overflows.
//
// It panics if lengths or denominators differ or tolerance is negative: DecodeFraction has decoded
// o with the length and the denominator of f.
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

// magnitude returns |x|, also of the smallest int64.
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
