package accountant

import "math"

const (
	// fractionalRounding times alpha + 10 is what the roundings of logMomentFractional may add up
	// to, relative to the larger of 1 and its result, and is added.
	fractionalRounding = 1e-14
	// alternatingTerms of an accelerated series leave 5.8^-22 = 1e-17 of it.
	alternatingTerms = 22
)

// logMomentFractional returns logMoment at an order that is not an integer (section 3.3). With w =
// q/(1-q) * N(1, z²)/N(0, z²), the odds of having been drawn,
//
//	A = (1-q)^alpha E_Q[(1+w)^alpha]
//
// and the binomial series converges in powers of w where w < 1, left of zeta = z² log(1/q - 1) + 1/2, and in powers of
// 1/w right of it. Up to i = floor(alpha) the coefficients are positive, then they alternate. What follows is the
// product of two moment sequences of measures on [0, 1], the coefficients' (a beta distribution) and w's: exactly the
// series for which the acceleration of Cohen, Rodriguez Villegas and Zagier has a proven error.
func logMomentFractional(m Mechanism, alpha float64) float64 {
	s := newOddsMoments(m)
	scale := alpha * math.Log1p(-m.SamplingRate)
	coefficient := scale // log of (1-q)^alpha |binomial(alpha, i)|
	whole := int(alpha)

	var sum logSum
	i := 0
	next := func() (left, right float64) {
		x := float64(i)
		left, right = coefficient+s.left(x), coefficient+s.right(alpha-x)
		coefficient += math.Log(math.Abs(alpha-x) / (x + 1))
		i++
		return left, right
	}
	for i <= whole {
		left, right := next()
		sum.add(left)
		sum.add(right)
	}
	tail := alternating(func() float64 {
		left, right := next()
		return math.Exp(left) + math.Exp(right)
	})
	head := sum.log()
	moment := head + math.Log1p(tail*math.Exp(-head)) + fractionalRounding*(alpha+10)*max(1, math.Abs(head))
	if moment > 1e-6 {
		return moment
	}
	// So close to 0 what was added may be much of it. The chord between the neighbouring integers
	// is above a convex function.
	f := alpha - float64(whole)
	return min(moment, (1-f)*logMomentInteger(m, whole)+f*logMomentInteger(m, whole+1))
}

// oddsMoments holds what the partial moments of w share.
type oddsMoments struct {
	logOdds, variance, deviation float64 // log(q/(1-q)), z² and z
	zeta                         float64 // where w = 1
	boundary                     float64 // log of the standard normal density at zeta/z
}

func newOddsMoments(m Mechanism) oddsMoments {
	z := m.NoiseMultiplier
	logOdds := math.Log(m.SamplingRate) - math.Log1p(-m.SamplingRate)
	zeta := 0.5 - z*z*logOdds
	return oddsMoments{logOdds: logOdds, variance: z * z, deviation: z, zeta: zeta, boundary: logDensity(zeta / z)}
}

// left returns log E_Q[w^p; x < zeta]: the moment exp(p logOdds + (p²-p)/2z²) times P(X <
// (zeta-p)/z). Beyond zeta the two would cancel. There w^p density = density at the boundary, where
// w = 1, so that Mills' ratio is all that remains.
func (s oddsMoments) left(p float64) float64 {
	if p <= s.zeta {
		return s.log(p) + logSurvival((p-s.zeta)/s.deviation)
	}
	return s.boundary + math.Log(mills((p-s.zeta)/s.deviation))
}

// right returns log E_Q[w^p; x > zeta].
func (s oddsMoments) right(p float64) float64 {
	if p >= s.zeta {
		return s.log(p) + logSurvival((s.zeta-p)/s.deviation)
	}
	return s.boundary + math.Log(mills((s.zeta-p)/s.deviation))
}

// log returns log E_Q[w^p].
func (s oddsMoments) log(p float64) float64 { return p*s.logOdds + p*(p-1)/(2*s.variance) }

// alternating returns a_0 - a_1 + a_2 - ..., term giving one after the other (algorithm 1 of Cohen,
// Rodriguez Villegas and Zagier).
func alternating(term func() float64) float64 {
	const n = alternatingTerms
	d := math.Pow(3+math.Sqrt(8), n)
	d = (d + 1/d) / 2
	b, c, sum := -1.0, -d, 0.0
	for k := range n {
		c = b - c
		sum += c * term()
		x := float64(k)
		b *= (x + n) * (x - n) / ((x + 0.5) * (x + 1))
	}
	return sum / d
}
