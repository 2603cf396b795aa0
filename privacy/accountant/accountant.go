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

func unknown(method Method) error {
	return fmt.Errorf("%w: method %q, want %q, %q or %q", ErrParameter, method, RDP, PLD, Analytic)
}
