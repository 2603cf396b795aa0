package privacy

import (
	"fmt"
	"math/rand/v2"
)

// PoissonSample draws a batch for which privacy amplification holds: every index of [0, n) is taken
// with probability q, independently of all others. It appends the indices to dst in ascending order
// and returns it; their number is Binomial(n, q) and secret, as are they.
//
// The probability is q rounded down to a multiple of 2^-53: never more than what the accountant
// assumes. One word is drawn for every index, taken or not. It panics unless n >= 0 and 0 <= q <=
// 1.
func PoissonSample(dst []int, n int, q float64, src UniformSource) []int {
	if n < 0 || !(q >= 0 && q <= 1) {
		panic(fmt.Sprintf("privacy: sampling %d examples at rate %v, want a rate in [0, 1]", n, q))
	}
	threshold := uint64(q * (1 << 53)) // exact except for the bits below 2^-53, which are cut off
	for i := range n {
		if src.Uint64()>>11 < threshold {
			dst = append(dst, i)
		}
	}
	return dst
}

// FixedSample draws b of the indices [0, n) without replacement, every subset being equally likely, appends them to dst
// in ascending order and returns it. It is for the paper's preset: the accountant's amplification is for
// [PoissonSample] and does not hold for it. It panics unless 0 <= b <= n.
//
// Source: Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm S.
func FixedSample(dst []int, n, b int, src UniformSource) []int {
	if b < 0 || b > n {
		panic(fmt.Sprintf("privacy: sampling %d of %d examples", b, n))
	}
	rng := rand.New(src)
	for i := 0; b > 0; i++ {
		if rng.IntN(n-i) < b { // b of the n-i that are left
			dst = append(dst, i)
			b--
		}
	}
	return dst
}
