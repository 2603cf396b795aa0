package privacy

import "math"

// Normal fills dst with independent N(0, 1) draws, by Marsaglia's polar method: a point uniform in
// the unit disc, its squared radius s turned into the radius sqrt(-2 ln s) of a normal pair.
//
// The point's coordinates are all multiples of 2^-53 in (-1, 1), 54 random bits each, so that s comes as small as
// 2^-106 and the tail is right up to its end, at 12.1 standard deviations; the rest has probability 1e-33. The
// generator of math/rand is not used, as it rounds to 31 bits, and neither is a cosine of a 53-bit angle, whose tail
// ends at 8.6. That a float64 cannot hold a real number is dealt with by the grid, see the package comment.
//
// The relative error of each variate, compared with the exact transform of its point, is at most 2^-51*(1 + 1/r²),
// where r is the radius of the pair: the last two or three bits of a float64. Only a share r²/2 of the pairs lies so
// close to the origin that it is larger; their absolute error is at most 2^-50/r.
//
// Source: Marsaglia and Bray, "A convenient method for generating normal variables", 1964.
func (s *Source) Normal(dst []float64) {
	s.rekey()
	for i := 0; i < len(dst); i += 2 {
		x, y := s.pair()
		dst[i] = x
		if i+1 < len(dst) {
			dst[i+1] = y
		}
	}
	s.rekey() // nothing in memory gives the draws back
}

// pair draws two independent normal variates.
func (s *Source) pair() (x, y float64) {
	for {
		u, v := signed(s.Uint64()), signed(s.Uint64())
		if square := u*u + v*v; square > 0 && square < 1 {
			scale := polar(square)
			return u * scale, v * scale
		}
	}
}

// polar returns the factor of a point with the given squared radius.
func polar(square float64) float64 { return math.Sqrt(-2 * math.Log(square) / square) }

// signed maps a word to a multiple of 2^-53 in [-1, 1), exactly.
func signed(word uint64) float64 { return float64(int64(word)>>10) * 0x1p-53 }
