package contribution

import "math"

// The functions of package math differ between CPUs in the last bit: some are assembly, and some
// compilers fuse a product with the addition after it. The functions here are rounded the same way
// everywhere, because an explicit conversion of every product prevents the fusion.

// Two parts of ln 2. The high part has zeros in its last 32 bits, so that its products with the
// exponents of float64 are exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// exp returns e^x, accurate to 1e-15 of its value. exp(NaN) is NaN.
func exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709:
		return math.Inf(1)
	case x < -745:
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low) // |r| <= ln2 / 2
	sum := 1.0
	for i := 14; i >= 1; i-- { // Taylor: the next term is below 1e-18
		sum = 1 + float64(float64(r/float64(i))*sum)
	}
	return math.Ldexp(sum, int(k))
}

// log returns the natural logarithm of x > 0, accurate to 1e-15 of its value away from x = 1, and to 1e-16 near it.
func log(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 1) {
		return x
	}
	f, k := math.Frexp(x) // x = f 2^k, 0.5 <= f < 1
	if f < math.Sqrt2/2 {
		f, k = 2*f, k-1
	}
	// log f = 2 artanh s = 2 (s + s^3/3 + ...), |s| < 0.172
	s := (f - 1) / (f + 1)
	square := float64(s * s)
	sum := 0.0
	for i := 23; i >= 1; i -= 2 {
		sum = float64(sum*square) + 1/float64(i)
	}
	return float64(float64(k)*ln2High) + (float64(2*float64(s*sum)) + float64(float64(k)*ln2Low))
}

// tanh returns the hyperbolic tangent, accurate to 1e-15.
func tanh(x float64) float64 {
	if x > 20 || x < -20 {
		return math.Copysign(1, x)
	}
	e := exp(float64(2 * x))
	return (e - 1) / (e + 1)
}
