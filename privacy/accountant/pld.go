package accountant

import "fmt"

const (
	// pldMinNoise keeps the number of quadrature panels in bounds.
	pldMinNoise = 0.01
	// pldMaxSteps bounds memory.
	pldMaxSteps = 64

	// How far the grid may raise epsilon relatively, if its size allows.
	epsilonError = 1e-4
	// tailShare of delta, over all rounds, goes to outcomes that are given an infinite loss.
	tailShare = 1e-6
	// minCells and maxCells bound the number of losses of a round. All mechanisms share maxCells.
	minCells = 1 << 10
	maxCells = 1 << 18
)

// pldEpsilon returns Epsilon by privacy loss distributions: the worse of the two directions, and never above RDP.
func pldEpsilon(merged []Step, delta float64) (float64, error) {
	if err := pldCheck(merged); err != nil || len(merged) == 0 {
		return 0, err
	}
	rdp, alpha := rdpEpsilon(merged, delta)
	if rdp == 0 {
		return 0, nil
	}
	// Epsilon rises by the rise of the moment, over alpha - 1.
	g := newGrid(merged, alpha, epsilonError*rdp*(alpha-1), delta)
	epsilon := g.refine(epsilonError, 1e-9, func(c composition) answer { return c.epsilon(delta) })
	return min(epsilon, rdp), nil
}

// answer is an epsilon of a composition. If fill is above 1 there is none, as the transform would be so much too long.
type answer struct{ value, fill float64 }

func (c composition) epsilon(delta float64) answer {
	curve, fill := c.compose(c.tiltForDelta(delta))
	return answer{curve.epsilon(delta), fill}
}

func pldCheck(merged []Step) error {
	for _, s := range merged {
		if s.NoiseMultiplier < pldMinNoise {
			return fmt.Errorf("%w: noise multiplier %v, want %v or more for method %q", ErrParameter, s.NoiseMultiplier,
				pldMinNoise, PLD)
		}
	}
	if len(merged) > pldMaxSteps {
		return fmt.Errorf("%w: %d different mechanisms, want at most %d for method %q", ErrParameter, len(merged),
			pldMaxSteps, PLD)
	}
	return nil
}
