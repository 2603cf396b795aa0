package accountant

import (
	"fmt"
	"math"
)

// ChainOrders are the orders at which a chain keeps divergences in its ledger: a fifth apart in alpha-1. At the rates
// and noises of the presets the best of them gives the epsilon of the best of all within 0.5 %. Elsewhere up to a fifth
// more was seen, and with much noise more than that, because no order is above the last: twice at rate 0.01 and noise
// 40, for example; never less. Their number and order are consensus: params.LedgerColumns, app/SPEC.md.
var ChainOrders = [...]float64{
	1.1, 1.12, 1.14, 1.17, 1.21, 1.25, 1.3, 1.36, 1.43, 1.52, 1.62, 1.74, 1.89, 2.07, 2.28, 2.54, 2.85, 3.22, 3.66, 4.19,
	4.83, 5.6, 6.52, 7.62, 8.95, 11, 12, 15, 17, 21, 25, 29, 35, 42, 50, 60, 72, 86, 103, 123, 148, 177, 213, 255, 306,
	367, 440,
}

// A ledger has a column for each of ChainOrders, in nano nats, and one more: mu² of Gaussian differential privacy, in
// pico. Where every round takes all records, the rounds together are one Gaussian mechanism of that mu, whose epsilon
// is exact; a round that samples cannot pay in this column.
const (
	chainColumns = len(ChainOrders) + 1
	nano         = 1e-9
	pico         = 1e-12
)

// slack is more than the rounding errors of a divergence or of an epsilon at a mu, as a share of the
// divergence or of mu². It also pays for what discrete noise lacks of a Gaussian (package privacy).
const slack = 1e-8

const (
	// unaffordable is the cost of a round whose divergence no ledger can hold, or that has none in a
	// column. Tools that read numbers as float64, such as jq, keep it.
	unaffordable = 1 << 53
	// ChainMost is the largest entry of a budget, and of a ledger from which an epsilon follows.
	ChainMost = unaffordable - 1
)

// ChainMethod returns the method that comes closest to the ledger at a sampling rate.
func ChainMethod(samplingRate float64) Method {
	if samplingRate == 1 {
		return Analytic
	}
	return RDP
}

// ChainCosts returns what one round of a mechanism costs in each column of a ledger, rounded up.
func ChainCosts(m Mechanism) ([]uint64, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	costs := make([]uint64, 0, chainColumns)
	for _, alpha := range ChainOrders {
		costs = append(costs, chainCost(logMoment(m, alpha)/(alpha-1)*(1+slack)/nano))
	}
	if m.SamplingRate != 1 {
		return append(costs, unaffordable), nil
	}
	return append(costs, chainCost((1+slack)/(m.NoiseMultiplier*m.NoiseMultiplier)/pico)), nil
}

// chainCost rounds a cost up.
func chainCost(x float64) uint64 {
	if !(x < unaffordable-1) {
		return unaffordable
	}
	return uint64(math.Ceil(x)) + 1
}

// ChainBudget returns how much epsilon at delta allows in each column of a ledger, rounded down.
func ChainBudget(epsilon, delta float64) ([]uint64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	if err := checkDelta(delta); err != nil {
		return nil, err
	}
	budget := make([]uint64, chainColumns)
	for i, alpha := range ChainOrders {
		if room := (epsilon - orderEpsilon(alpha, 0, delta)) * (1 - slack) / nano; room > 0 {
			budget[i] = uint64(math.Min(room, ChainMost))
		}
	}
	// The largest number whose mu keeps to delta, bit by bit: delta rises with mu.
	mu := &budget[len(ChainOrders)]
	for bit := uint64(unaffordable / 2); bit > 0; bit /= 2 {
		if analyticDelta(chainMu(*mu+bit), epsilon) <= delta {
			*mu += bit
		}
	}
	return budget, nil
}

// chainMu returns the mu of an entry in the last column of a ledger.
func chainMu(entry uint64) float64 { return math.Sqrt(float64(entry) * pico) }

// ChainEpsilon returns the epsilon at delta of what a ledger holds, by the column in which it is
// least. Of nothing it is 0. A ledger of an earlier version has no column of mu. If no entry is at
// most ChainMost, it is the largest epsilon that this package accepts.
func ChainEpsilon(spent []uint64, delta float64) (float64, error) {
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	switch len(spent) {
	case 0:
		return 0, nil
	case len(ChainOrders), chainColumns:
	default:
		return 0, fmt.Errorf("%w: a ledger of %d columns, want %d", ErrParameter, len(spent), chainColumns)
	}
	best := float64(maxEpsilon)
	for i, entry := range spent {
		switch {
		case entry > ChainMost:
		case i < len(ChainOrders):
			best = math.Min(best, float64(entry)*nano+orderEpsilon(ChainOrders[i], 0, delta))
		default:
			best = math.Min(best, analyticEpsilon(chainMu(entry), delta))
		}
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
