package accountant

import (
	"fmt"
	"math"
)

// ChainOrders are the orders at which a chain keeps its ledger: a fifth apart in alpha-1. At the
// rates and noises of the presets the best of them gives the epsilon of the best of all within 0.5
// %. Elsewhere up to a fifth more was seen, and with much noise more than that, because no order is
// above the last: twice at rate 0.01 and noise 40, for example; never less. Their number and order
// are consensus: app.LedgerOrders, app/SPEC.md.
var ChainOrders = [...]float64{
	1.1, 1.12, 1.14, 1.17, 1.21, 1.25, 1.3, 1.36, 1.43, 1.52, 1.62, 1.74, 1.89, 2.07, 2.28, 2.54, 2.85, 3.22, 3.66, 4.19,
	4.83, 5.6, 6.52, 7.62, 8.95, 11, 12, 15, 17, 21, 25, 29, 35, 42, 50, 60, 72, 86, 103, 123, 148, 177, 213, 255, 306,
	367, 440,
}

// nano is the unit of the chain's ledger, in nats.
const nano = 1e-9

// slack is more than the rounding errors of a divergence, as a share of it.
const slack = 1e-8

// unaffordable stands for a divergence that no ledger can hold.
const unaffordable = 1 << 62

// ChainCosts returns the Rényi divergences of one round of a mechanism at ChainOrders, in 1e-9
// nats, rounded up.
func ChainCosts(m Mechanism) ([]uint64, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	costs := make([]uint64, len(ChainOrders))
	for i, alpha := range ChainOrders {
		divergence := logMoment(m, alpha) / (alpha - 1) * (1 + slack) / nano
		if !(divergence < unaffordable-1) {
			costs[i] = unaffordable
			continue
		}
		costs[i] = uint64(math.Ceil(divergence)) + 1
	}
	return costs, nil
}

// ChainBudget returns how much divergence epsilon at delta allows at each of ChainOrders, in 1e-9
// nats, rounded down.
func ChainBudget(epsilon, delta float64) ([]uint64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	if err := checkDelta(delta); err != nil {
		return nil, err
	}
	budget := make([]uint64, len(ChainOrders))
	for i, alpha := range ChainOrders {
		if room := (epsilon - orderEpsilon(alpha, 0, delta)) * (1 - slack) / nano; room > 0 {
			budget[i] = uint64(math.Min(math.Floor(room), unaffordable))
		}
	}
	return budget, nil
}

// ChainEpsilon returns the epsilon at delta of a chain's ledger: of what is spent at ChainOrders,
// in 1e-9 nats. Of nothing it is 0.
func ChainEpsilon(spent []uint64, delta float64) (float64, error) {
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	if len(spent) == 0 {
		return 0, nil
	}
	if len(spent) != len(ChainOrders) {
		return 0, fmt.Errorf("%w: a ledger of %d orders, want %d", ErrParameter, len(spent), len(ChainOrders))
	}
	best := math.Inf(1)
	for i, alpha := range ChainOrders {
		best = math.Min(best, float64(spent[i])*nano+orderEpsilon(alpha, 0, delta))
	}
	return math.Max(best, 0), nil
}

// GreatestEpsilon returns the largest ChainEpsilon of several ledgers at delta, which is what a
// consortium as a whole may claim. Of no ledger it is 0.
func GreatestEpsilon(ledgers [][]uint64, delta float64) (float64, error) {
	var greatest float64
	for _, spent := range ledgers {
		epsilon, err := ChainEpsilon(spent, delta)
		if err != nil {
			return 0, err
		}
		greatest = max(greatest, epsilon)
	}
	return greatest, nil
}
