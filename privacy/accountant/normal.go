package accountant

import "math"

const logSqrt2Pi = 0.918938533204672741780329736405617639861 // log(sqrt(2π))

// millsFrom is where mills turns from erfc, whose exponential factor costs digits, to the continued fraction.
const millsFrom = 5

// mills returns Mills' ratio P(X > x)/density(x) of X ~ N(0, 1), for x >= 0: from sqrt(π/2) down, like 1/x.
func mills(x float64) float64 {
	if x < millsFrom {
		return math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	// Laplace's continued fraction x + 1/(x + 2/(x + 3/(x + ...))), whose error after n terms falls
	// like exp(-2x sqrt(2n)).
	fraction := x
	for n := 20; n >= 1; n-- {
		fraction = x + float64(n)/fraction
	}
	return 1 / fraction
}

// survival returns P(X > x) of X ~ N(0, 1).
func survival(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// logSurvival returns log P(X > x), also where P underflows.
func logSurvival(x float64) float64 {
	switch {
	case x < -millsFrom:
		return math.Log1p(-survival(-x))
	case x < millsFrom:
		return math.Log(survival(x))
	default:
		return logDensity(x) + math.Log(mills(x))
	}
}

// logDensity returns the logarithm of the standard normal density.
func logDensity(x float64) float64 { return -x*x/2 - logSqrt2Pi }
