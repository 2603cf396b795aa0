package privacy

import (
	"fmt"
	"math"
	"math/bits"
)

// maxSigmaSquare bounds numerator and denominator of a discrete Gaussian's sigma², so that 128 bits
// hold all that its sampler computes.
const maxSigmaSquare = 1 << 56

// DiscreteGaussian is the discrete Gaussian on the integers: y with probability proportional to exp(-y²/(2*sigma²)).
// Make it with [NewDiscreteGaussian], draw from it with [Source.DiscreteNormal].
//
// As noise it does on the integers what the Gaussian does on the reals: between outputs whose integer inputs lie a
// vector D apart, the Rényi divergence of order alpha is at most alpha*‖D‖²/(2*sigma²). Its variance is at most
// sigma², and for sigma of 3 or more equal to it to float64.
//
// Source: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020.
type DiscreteGaussian struct {
	num, den uint64 // sigma² = num/den
	t        uint64 // scale of the discrete Laplace distribution that proposes
	unit     wide   // 2*num*den*t², which an exponent's numerator is over; shifted
	shift    uint   // left, until the top bit of unit is set
}

// NewDiscreteGaussian returns the distribution for sigma² = num/den. It fails with ErrConfig unless
// both are 1 to 2^56.
func NewDiscreteGaussian(num, den uint64) (DiscreteGaussian, error) {
	if num < 1 || num > maxSigmaSquare || den < 1 || den > maxSigmaSquare {
		return DiscreteGaussian{}, fmt.Errorf("%w: discrete Gaussian of sigma² %d/%d, want both numbers 1 to 2^56",
			ErrConfig, num, den)
	}
	// The paper's floor(sigma)+1. Any t is correct, and this one rejects few proposals. Rounding
	// the root changes no probability.
	t := uint64(math.Sqrt(float64(num/den))) + 1
	// num*den*t² is at most 4*num² or, with t = 1, num*den: 2^115 at most once doubled.
	unit := product(num, 2*t*t).times(den)
	shift := unit.leadingZeros()
	return DiscreteGaussian{num: num, den: den, t: t, unit: unit.shifted(shift), shift: shift}, nil
}

// DiscreteNormal fills dst with independent draws. No float takes part. Every decision compares a uniform integer with
// a rational number's numerator, so that the draws are as good as the words of the source; only proposals beyond
// 2^64/(t*den) are rejected unseen, which the exact algorithm would accept with probability below exp(-8000).
//
// Running time: a draw takes 15 to 27 words in expectation, whatever sigma; the chance to need k
// times as many falls exponentially in k, without a bound. The time depends on the variates, in
// particular on their magnitude: nobody may be able to time single ones. Memory is constant.
func (s *Source) DiscreteNormal(dst []int64, g DiscreteGaussian) {
	s.rekey()
	for i := range dst {
		dst[i] = s.discreteGaussian(&g)
	}
	s.rekey() // nothing in memory gives the draws back
}

// discreteGaussian is algorithm 3: a Laplace proposal y, accepted with probability exp(-(|y| -
// sigma²/t)²/(2*sigma²)).
func (s *Source) discreteGaussian(g *DiscreteGaussian) int64 {
	for {
		y, negative := s.discreteLaplace(g.t)
		if square, ok := g.exponent(y); ok && s.expWide(square, g.unit, g.shift) {
			if negative {
				return -int64(y)
			}
			return int64(y)
		}
	}
}

// exponent returns (y - sigma²/t)²/(2*sigma²) in units of 1/(2*num*den*t²), which is the square of
// y*t*den - num. It is not ok if y*t*den takes more than 64 bits.
func (g *DiscreteGaussian) exponent(y uint64) (square wide, ok bool) {
	over, x := bits.Mul64(y, g.t*g.den)
	if x < g.num {
		x = g.num - x
	} else {
		x -= g.num
	}
	return product(x, x), over == 0
}

// discreteLaplace is algorithm 2 for scale t: the magnitude y and the sign of an integer, exp(-y/t)
// times as likely as 0.
func (s *Source) discreteLaplace(t uint64) (y uint64, negative bool) {
	for {
		u := s.below(t)
		if !s.exp(u, t) {
			continue
		}
		y = u
		for s.expOne() {
			y += t
		}
		negative = s.Uint64()>>63 == 1
		if y > 0 || !negative { // one zero, not two
			return y, negative
		}
	}
}

// exp is algorithm 1 below 1: true with probability exp(-a/b), for a <= b. The coin of probability
// a/(b*k) is two coins.
func (s *Source) exp(a, b uint64) bool {
	k := uint64(1)
	for s.below(b) < a && (k == 1 || s.below(k) == 0) {
		k++
	}
	return k&1 == 1
}

// expOne returns true with probability exp(-1).
func (s *Source) expOne() bool {
	k := uint64(2) // the first coin is always heads
	for s.below(k) == 0 {
		k++
	}
	return k&1 == 1
}

// expWide is algorithm 1: true with probability exp(-a*2^shift/b). b has its top bit set.
func (s *Source) expWide(a, b wide, shift uint) bool {
	for one := b.unshifted(shift); !a.less(one); a = a.minus(one) {
		if !s.expOne() {
			return false
		}
	}
	a = a.shifted(shift)
	k := uint64(1)
	for s.belowWide(b).less(a) && (k == 1 || s.below(k) == 0) {
		k++
	}
	return k&1 == 1
}

// below returns a number uniform on [0, n), n > 0. Source: Lemire, "Fast random integer generation
// in an interval", 2019; words that would favour some results are replaced, so that it is exact.
func (s *Source) below(n uint64) uint64 {
	result, rest := bits.Mul64(s.Uint64(), n)
	if rest < n {
		for surplus := -n % n; rest < surplus; {
			result, rest = bits.Mul64(s.Uint64(), n)
		}
	}
	return result
}

// belowWide returns a number uniform on [0, n) for n of at least 2^127.
func (s *Source) belowWide(n wide) wide {
	for {
		if w := (wide{s.Uint64(), s.Uint64()}); w.less(n) {
			return w
		}
	}
}

// wide is an unsigned integer of 128 bits. Its operations do not check for overflow.
type wide struct{ hi, lo uint64 }

func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (w wide) times(b uint64) wide {
	hi, lo := bits.Mul64(w.lo, b)
	return wide{hi + w.hi*b, lo}
}

func (w wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(w.lo, b.lo, 0)
	return wide{w.hi - b.hi - borrow, lo}
}

func (w wide) less(b wide) bool { return w.hi < b.hi || w.hi == b.hi && w.lo < b.lo }

func (w wide) leadingZeros() uint {
	if w.hi == 0 {
		return uint(64 + bits.LeadingZeros64(w.lo))
	}
	return uint(bits.LeadingZeros64(w.hi))
}

// Go shifts by 64 and more to 0, and 64-n below 0 wraps to such a shift.

func (w wide) shifted(n uint) wide {
	return wide{w.hi<<n | w.lo>>(64-n) | w.lo<<(n-64), w.lo << n}
}

func (w wide) unshifted(n uint) wide {
	return wide{w.hi >> n, w.lo>>n | w.hi<<(64-n) | w.hi>>(n-64)}
}
