package accountant

import "math"

// logMoment returns an upper bound of (alpha-1) times the Rényi divergence of order alpha > 1 of one round,
//
//	log A(alpha), A(alpha) = E_Q[(P/Q)^alpha], P = (1-q) N(0, z²) + q N(1, z²), Q = N(0, z²)
//
// exact up to rounding. It serves both orders of the neighbours: E_P[(Q/P)^alpha] is never larger
// (Mironov, Talwar and Zhang, theorem 5). As a function of alpha it is convex, 0 at alpha = 1.
func logMoment(m Mechanism, alpha float64) float64 {
	switch {
	case m.SamplingRate == 1:
		return alpha * (alpha - 1) / (2 * m.NoiseMultiplier * m.NoiseMultiplier)
	case alpha == math.Floor(alpha):
		return logMomentInteger(m, int(alpha))
	default:
		return logMomentFractional(m, alpha)
	}
}

// logMomentInteger returns logMoment at an integer order, by the binomial expansion (section 3.3):
//
//	A(alpha) = Σ_k binomial(alpha, k) (1-q)^(alpha-k) q^k exp((k²-k)/2z²)
//
// The binomial weights sum to 1 and the exponential is 1 for k = 0 and 1, so A - 1 = Σ_(k>=2)
// weight (exp((k²-k)/2z²) - 1), all of it positive: no digit is lost, however little a round tells.
func logMomentInteger(m Mechanism, alpha int) float64 {
	q, variance := m.SamplingRate, m.NoiseMultiplier*m.NoiseMultiplier
	logOdds := math.Log(q) - math.Log1p(-q)
	weight := float64(alpha) * math.Log1p(-q) // logarithm of the weight of k = 0
	late := lastPeak(float64(alpha), logOdds, weight, variance)
	var sum logSum
	for k := range alpha {
		weight += math.Log(float64(alpha-k)/float64(k+1)) + logOdds // now of k+1
		x := float64(k+1) * float64(k) / (2 * variance)
		if k == 0 {
			continue
		}
		if sum.hides(weight + x) { // exp(x) - 1 < exp(x)
			if sum.hides(late) {
				break
			}
			continue
		}
		sum.add(weight + logExpm1(x))
	}
	return softplus(sum.log())
}

// lastPeak bounds what may still come when the terms of the sum have become small. The logarithms
// of binomial * odds^k * exp((k²-k)/2z²) have second derivative 1/z² - 1/k - 1/(alpha-k), between
// integers by the gamma function and nearly so: they rise and fall, then bend up, and from where
// alpha-k is about z² may peak once more. The result is that peak, or -Inf if they never bend up.
func lastPeak(alpha, logOdds, weightOf0, variance float64) float64 {
	discriminant := alpha*alpha/4 - variance*alpha
	if discriminant <= 0 {
		return math.Inf(-1)
	}
	// From low on the derivative falls, to -Inf at alpha. A peak is where it passes 0.
	low, high := alpha/2+math.Sqrt(discriminant), alpha
	for range 60 {
		if k := (low + high) / 2; math.Log((alpha-k)/(k+1))+logOdds+k/variance > 0 {
			low = k
		} else {
			high = k
		}
	}
	logFactorial := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	// The next integer is less than 1 away, over which the logarithm changes by less than what is added.
	return logFactorial(alpha) - logFactorial(low) - logFactorial(alpha-low) + weightOf0 + low*logOdds +
		low*(low-1)/(2*variance) + 1 + 1/variance
}

// logExpm1 returns log(exp(x) - 1) for x > 0.
func logExpm1(x float64) float64 {
	if x > 40 {
		return x
	}
	return math.Log(math.Expm1(x))
}

// softplus returns log(1 + exp(x)).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logSum adds numbers given by their logarithms. The zero value is the empty sum.
type logSum struct {
	largest, scaled float64 // the sum is exp(largest)*scaled; 0 if scaled is 0
}

func (s *logSum) add(x float64) {
	switch d := x - s.largest; {
	case s.scaled == 0:
		s.largest, s.scaled = x, 1
	case d > 0:
		s.largest, s.scaled = x, s.scaled*math.Exp(-d)+1
	default:
		s.scaled += math.Exp(d)
	}
}

// hides reports whether adding x would not show in the sum, nor would adding a hundred thousand of its like.
func (s *logSum) hides(x float64) bool { return s.scaled > 0 && x < s.largest-50 }

func (s *logSum) log() float64 { return s.largest + math.Log(s.scaled) }
