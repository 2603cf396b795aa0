package accountant

import "math"

// This file has the way back from an epsilon to a delta, which only tests ask: it holds Epsilon.

// deltaError is how far the grid may raise delta relatively, if its size allows.
const deltaError = 1e-3

// Delta returns the delta at which the steps together are (epsilon, delta)-private, at most 1.
// Without rounds it is 0, otherwise above 0: an underflow is rounded up. It fails with ErrParameter
// unless epsilon is 0 to 1e100.
func Delta(method Method, epsilon float64, steps ...Step) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	merged, err := merge(steps)
	if err != nil {
		return 0, err
	}
	switch method {
	case RDP:
		delta, _ := rdpDelta(merged, epsilon)
		return delta, nil
	case PLD:
		return pldDelta(merged, epsilon)
	case Analytic:
		mu, err := composed(merged)
		if err != nil || mu == 0 {
			return 0, err
		}
		return analyticDelta(mu, epsilon), nil
	default:
		return 0, unknown(method)
	}
}

// tiltForEpsilon returns the lambda of the best Chernoff bound on delta at epsilon.
func (c composition) tiltForEpsilon(epsilon float64) float64 {
	return tilt(func(lambda float64) float64 { return orderLogDelta(1+lambda, c.cumulant(lambda), epsilon) })
}

// delta returns a bound on delta at epsilon; 1 below the window, and above it no better than at its
// end.
func (c curve) delta(epsilon float64) float64 {
	epsilon -= c.rounding
	result, last := 1.0, 0.0 // last is delta at the loss above
	c.walk(func(i int, value float64) bool {
		above := epsilon - float64(i)*c.step
		if above < 0 {
			last = value
			return true
		}
		if result = value; above < c.step && i < c.low+len(c.tilted)-1 {
			result += (last - value) * math.Expm1(above) / math.Expm1(c.step)
		}
		return false
	})
	return result
}

// orderLogDelta returns the logarithm of the delta that one order gives, convex in alpha.
func orderLogDelta(alpha, moment, epsilon float64) float64 {
	return moment + conversion(alpha) - (alpha-1)*epsilon
}

// pldDelta returns Delta by privacy loss distributions.
func pldDelta(merged []Step, epsilon float64) (float64, error) {
	if err := pldCheck(merged); err != nil || len(merged) == 0 {
		return 0, err
	}
	delta, alpha := rdpDelta(merged, epsilon)
	ask := func(c composition) answer { return c.delta(epsilon) }
	// RDP may be so far off that the tail cut off for it is most of the answer.
	g := newGrid(merged, alpha, deltaError, max(delta, minDelta))
	for range 4 {
		rough := min(g.coarse(ask), delta)
		if rough >= delta/100 {
			break
		}
		delta = rough
		g = newGrid(merged, alpha, deltaError, max(delta, minDelta))
	}
	return max(min(g.refine(deltaError, minDelta, ask), delta), math.SmallestNonzeroFloat64), nil
}

func (c composition) delta(epsilon float64) answer {
	curve, fill := c.compose(c.tiltForEpsilon(epsilon))
	return answer{curve.delta(epsilon), fill}
}

// rdpDelta returns the least delta over all orders, and the order.
func rdpDelta(merged []Step, epsilon float64) (delta, alpha float64) {
	if len(merged) == 0 {
		return 0, orders[len(orders)-1]
	}
	logDelta, at := lowest(len(orders), func(i int) float64 {
		return orderLogDelta(orders[i], moments(merged, orders[i]),
			epsilon)
	})
	return asDelta(logDelta), orders[at]
}
