package accountant

import "fmt"

// Epsilon returns the privacy that the steps spend together at delta, in any order, each free to
// depend on the results of earlier steps: together they are (epsilon, delta)-private. Without
// rounds it is 0. It fails with ErrParameter unless delta is 1e-100 or more and below 1.
func Epsilon(method Method, delta float64, steps ...Step) (float64, error) {
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	merged, err := merge(steps)
	if err != nil {
		return 0, err
	}
	return method.epsilon(delta, merged)
}

func (method Method) epsilon(delta float64, merged []Step) (float64, error) {
	switch method {
	case RDP:
		epsilon, _ := rdpEpsilon(merged, delta)
		return epsilon, nil
	case PLD:
		return pldEpsilon(merged, delta)
	case Analytic:
		mu, err := composed(merged)
		if err != nil || mu == 0 {
			return 0, err
		}
		return analyticEpsilon(mu, delta), nil
	default:
		return 0, unknown(method)
	}
}

func unknown(method Method) error {
	return fmt.Errorf("%w: method %q, want %q, %q or %q", ErrParameter, method, RDP, PLD, Analytic)
}

// rdpEpsilon returns the least epsilon over all orders, and the order.
func rdpEpsilon(merged []Step, delta float64) (epsilon, alpha float64) {
	if len(merged) == 0 { // nothing has been released, which is (0, 0)-private
		return 0, orders[len(orders)-1]
	}
	epsilon, at := lowest(len(orders), func(i int) float64 {
		return orderEpsilon(orders[i], moments(merged, orders[i]), delta)
	})
	return max(epsilon, 0), orders[at]
}

// moments returns the sum of the steps' logMoments at an order: divergences of one order add up,
// even if each round's computation depends on the results of earlier rounds.
func moments(merged []Step, alpha float64) float64 {
	sum := 0.0
	for _, s := range merged {
		sum += float64(s.Rounds) * logMoment(s.Mechanism, alpha)
	}
	return sum
}
