package accountant

import "math"

// The delta of a composition is Σ mass(l) (1 - exp(epsilon - l)) over the losses l above epsilon.
// With every loss of the grid as epsilon in turn, from the top down, two running sums give it:
//
//	above(i) = Σ_(j>i) mass(j), delta(i) = Σ_(j>i) mass(j) (1 - exp((i-j)*step))
//
// delta(i-1) = exp(-step)*delta(i) + (1-exp(-step))*above(i-1), in which nothing cancels. To this each epsilon adds
// what the tilt's error can amount to, exp(M - lambda*epsilon)*gain*err, and infinite losses. As the true delta is
// convex in exp(epsilon), the chord between two upper bounds is one in between.

// curveRounding covers the rounding of sums and weights.
const curveRounding = 1e-9

// gain returns the largest value of exp(-lambda*d)*(1-exp(-d)) over d > 0.
func gain(lambda float64) float64 {
	return math.Exp(-lambda*math.Log1p(1/lambda)) / (1 + lambda)
}

// walk calls at with the index, from the top of the window down, and delta at its loss, until that
// returns false or below the window.
func (c curve) walk(at func(i int, delta float64) bool) {
	decay, rest := math.Exp(-c.step), -math.Expm1(-c.step)
	gain, t := gain(c.lambda), c.lambda*c.step
	inexact := 1 + curveRounding + 8*unit*(math.Abs(c.logMass)+t*math.Abs(float64(c.low))+t*float64(len(c.tilted)))
	above, sum := 0.0, 0.0
	for i := c.low + len(c.tilted) - 1; i >= c.low; i-- {
		untilt := math.Exp(min(c.logMass-t*float64(i), 700))
		delta := (sum+c.err*gain*untilt)*inexact + c.infinite
		if !at(i, min(delta, 1)) {
			return
		}
		above += c.tilted[i-c.low] * untilt
		sum = decay*sum + rest*above
	}
}

// epsilon returns the least epsilon that the window shows to have delta or less: +Inf if none has,
// and the end of the window if all have.
func (c curve) epsilon(delta float64) float64 {
	epsilon := math.Inf(1)
	last := 0.0 // delta at the loss above
	c.walk(func(i int, value float64) bool {
		loss := float64(i) * c.step
		if value > delta {
			if !math.IsInf(epsilon, 1) {
				epsilon = loss + math.Log1p(math.Expm1(c.step)*(value-delta)/(value-last))
			}
			return false
		}
		epsilon, last = loss, value
		return loss+c.rounding > 0
	})
	return max(epsilon+c.rounding, 0)
}
