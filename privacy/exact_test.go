package privacy

import (
	"math"
	"math/big"
	"testing"

	"github.com/spdl/spdl/internal/stage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (w wide) big() *big.Int {
	n := new(big.Int).SetUint64(w.hi)
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(w.lo))
}

func drawWide(t *rapid.T, name string) wide {
	w := wide{rapid.Uint64().Draw(t, name+" high"), rapid.Uint64().Draw(t, name+" low")}
	return w.unshifted(rapid.UintRange(0, 127).Draw(t, name+" shift"))
}

// 128 bits against math/big.
func TestWide(t *testing.T) {
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawWide(t, "a"), drawWide(t, "b")
		n := rapid.UintRange(0, 128).Draw(t, "n")
		z := new(big.Int)
		require.Equal(t, a.big().Cmp(b.big()) < 0, a.less(b))
		require.Equal(t, z.Mod(z.Sub(a.big(), b.big()), modulus).String(), a.minus(b).big().String())
		require.Equal(t, z.Mod(z.Mul(a.big(), new(big.Int).SetUint64(b.lo)), modulus).String(), a.times(b.lo).big().String())
		require.Equal(t, z.Mul(new(big.Int).SetUint64(a.lo), new(big.Int).SetUint64(b.lo)).String(),
			product(a.lo, b.lo).big().String())
		require.Equal(t, z.Mod(z.Lsh(a.big(), n), modulus).String(), a.shifted(n).big().String())
		require.Equal(t, z.Rsh(a.big(), n).String(), a.unshifted(n).big().String())
		require.Equal(t, 128-a.big().BitLen(), int(a.leadingZeros()))
	})
}

// A proposal y is accepted with the probability of algorithm 3, line for line, in rational numbers:
// exp(-(y - sigma²/t)²/(2*sigma²)).
func TestExponentIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.Uint64Range(1, maxSigmaSquare).Draw(t, "num")
		den := rapid.Uint64Range(1, maxSigmaSquare).Draw(t, "den")
		y := rapid.Uint64().Draw(t, "y") >> rapid.UintRange(0, 63).Draw(t, "shift")
		g, err := NewDiscreteGaussian(num, den)
		require.NoError(t, err)
		rational := func(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }
		square := new(big.Rat).Quo(rational(num), rational(den))

		want := rational(y)
		want.Sub(want, new(big.Rat).Quo(square, rational(g.t)))
		want.Mul(want, want)
		want.Quo(want, new(big.Rat).Add(square, square))

		over, ok := g.exponent(y)
		if ok {
			got := new(big.Rat).SetFrac(over.big(), g.unit.unshifted(g.shift).big())
			require.Zero(t, want.Cmp(got), "%v, want %v", got, want)
		} else {
			bound := rational(8000)
			require.Positive(t, want.Cmp(bound), "refused unseen at exponent %v", want)
		}
		require.Equal(t, uint64(1), g.unit.hi>>63)
	})
}

// The running time that DiscreteNormal documents, in words, at every size of sigma.
func TestDiscreteNormalTakesFewWords(t *testing.T) {
	s := NewTestSource(1)
	for _, c := range []struct{ num, den uint64 }{{1, 1 << 56}, {1, 9}, {1, 1}, {3, 2}, {99, 10}, {1 << 20, 3},
		{1 << 52, 1}, {1 << 56, 1}} {
		g, err := NewDiscreteGaussian(c.num, c.den)
		require.NoError(t, err)
		const draws = 1000
		s.rekey()
		for range draws {
			s.discreteGaussian(&g)
		}
		words := float64(rekeyWords-s.left) / draws
		t.Logf("sigma² %d/%d: %.1f words", c.num, c.den, words)
		assert.Less(t, words, 30.0)
	}
}

// Marsaglia's transform of the same words in 200 bits: what the doc comment of Normal says of its
// precision.
func TestNormalIsPrecise(t *testing.T) {
	s := NewTestSource(1)
	check := func(x, y, u, v float64) {
		square := new(big.Float).Add(exactSquare(u), exactSquare(v))
		root := precise(-2)
		root.Mul(root, logarithm(square)) // r²
		r := math.Sqrt(float(root))
		root.Sqrt(root.Quo(root, square))
		for _, c := range []struct{ got, at float64 }{{x, u}, {y, v}} {
			want := new(big.Float).Mul(root, precise(c.at))
			difference := math.Abs(float(want.Sub(want, precise(c.got))))
			require.LessOrEqual(t, difference, 0x1p-51*(1+1/(r*r))*math.Abs(c.got), "point (%v, %v), radius %v", u, v, r)
		}
	}
	for range stage.Pick(1000, 5000, 5000) {
		b := twin(t, s)
		x, y := s.pair()
		u, v := signed(b.Uint64()), signed(b.Uint64())
		for square := u*u + v*v; square == 0 || square >= 1; square = u*u + v*v {
			u, v = signed(b.Uint64()), signed(b.Uint64())
		}
		check(x, y, u, v)
	}
	// The far tail, and the pairs next to the origin, which no test would draw.
	for _, p := range [][2]float64{{0x1p-53, 0}, {0x1p-53, -0x1p-53}, {3 * 0x1p-50, 0x1p-40}, {1 - 0x1p-53, 0},
		{1 - 0x1p-30, 0x1p-20}} {
		scale := polar(p[0]*p[0] + p[1]*p[1])
		check(p[0]*scale, p[1]*scale, p[0], p[1])
	}
	assert.InDelta(t, 12.1, 0x1p-53*polar(0x1p-106), 0.05)
}

func precise(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }

func exactSquare(x float64) *big.Float { return new(big.Float).Mul(precise(x), precise(x)) }

func float(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}

// logarithm is ln x for x > 0, of a mantissa and of the power of two.
func logarithm(x *big.Float) *big.Float {
	mantissa := precise(0)
	exponent := x.MantExp(mantissa)
	ln := artanh(new(big.Float).Quo(new(big.Float).Sub(mantissa, precise(1)), new(big.Float).Add(mantissa, precise(1))))
	two := artanh(new(big.Float).Quo(precise(1), precise(3)))
	ln.Add(ln, two.Mul(two, precise(float64(exponent))))
	return ln.Mul(ln, precise(2))
}

// artanh is x + x³/3 + x⁵/5 + ..., for |x| of at most 1/3.
func artanh(x *big.Float) *big.Float {
	sum, power, square := precise(0), new(big.Float).Set(x), new(big.Float).Mul(x, x)
	for k := 1.0; k < 140; k += 2 {
		sum.Add(sum, new(big.Float).Quo(power, precise(k)))
		power.Mul(power, square)
	}
	return sum
}
