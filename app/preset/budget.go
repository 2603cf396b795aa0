package preset

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// Delta is the delta of (epsilon, delta)-differential privacy that every preset uses. It is far below 1/n, where n is
// the number of a participant's examples. It is not the vector Delta of a round.
const Delta = 1e-6

// MechanismOf returns the accountant's description of a chain's mechanism. Two data sets are
// neighbours if one data set is the other without one example. For batches of fixed size the
// accountant proves no amplification by sampling, so MechanismOf sets their sampling rate to 1.
func MechanismOf(p params.Privacy) accountant.Mechanism {
	return accountant.Mechanism{SamplingRate: cmp.Or(p.SamplingRate, 1), NoiseMultiplier: p.NoiseMultiplier}
}

// Account fills in the ledger: the cost of a participation, and the budget. If epsilon does not pay
// for all rounds, Account raises epsilon to the next multiple of 0.01 that does, so that the
// displayed epsilon is true. Without the gaussian mechanism Account clears the ledger. Account also
// computes the noise of Lemma 1 again, because that noise depends on rounds and learning rate.
func Account(p *params.Params) error {
	if p.Privacy.Mechanism != params.MechanismGaussian {
		p.Privacy.Epsilon, p.Privacy.Delta, p.Privacy.Cost, p.Privacy.Budget = 0, 0, nil, nil
		return nil
	}
	p.Privacy.Delta = cmp.Or(p.Privacy.Delta, Delta)
	err := calibrate(p)
	if err != nil {
		return err
	}
	if p.Privacy.Cost, err = accountant.ChainCosts(MechanismOf(p.Privacy)); err != nil {
		return err
	}
	whole, err := EpsilonAfter(p.Privacy, p.Training.Rounds)
	if err != nil {
		return err
	}
	if p.Privacy.Epsilon < whole {
		p.Privacy.Epsilon = math.Ceil(whole*100) / 100
	}
	p.Privacy.Budget, err = accountant.ChainBudget(p.Privacy.Epsilon, p.Privacy.Delta)
	return err
}

// EpsilonAfter returns the epsilon that the chain's ledger computes for a number of participations.
func EpsilonAfter(p params.Privacy, participations uint64) (float64, error) {
	return EpsilonWith(p, nil, participations)
}

// EpsilonWith is like EpsilonAfter, for a participant whose ledger already holds the spent costs.
func EpsilonWith(p params.Privacy, spent []uint64, participations uint64) (float64, error) {
	if len(p.Cost) == 0 || participations == 0 && len(spent) == 0 {
		return 0, nil
	}
	return accountant.ChainEpsilon(p.PayFor(spent, participations), p.Delta)
}

// OwnLedger returns p with a participant's own ledger in place of the chain's. In each column, the
// cost of a round is the cost that this program computes, or the cost in p if that is higher. The
// budget follows from epsilon and delta, which the participant chooses.
func OwnLedger(p params.Privacy, epsilon, delta float64) (params.Privacy, error) {
	cost, err := accountant.ChainCosts(MechanismOf(p))
	if err != nil {
		return p, err
	}
	for i := range min(len(cost), len(p.Cost)) {
		cost[i] = max(cost[i], p.Cost[i])
	}
	p.Cost, p.Epsilon, p.Delta = cost, epsilon, delta
	p.Budget, err = accountant.ChainBudget(epsilon, delta)
	return p, err
}

// CheckLedger compares the ledger of parameters with the accountant. It rejects costs that are too
// low and budgets that are too high: with such values the chain would claim more privacy than it
// has. It also rejects parameters that declare the noise of Lemma 1 and have other noise.
func CheckLedger(all params.Params) error {
	if err := checkLemma1(all); err != nil {
		return err
	}
	p := all.Privacy
	if len(p.Cost) == 0 {
		return nil
	}
	costs, err := accountant.ChainCosts(MechanismOf(p))
	if err != nil {
		return err
	}
	budget, err := accountant.ChainBudget(p.Epsilon, p.Delta)
	if err != nil {
		return err
	}
	for i := range p.Cost {
		// Another machine's exp and log may differ in the last bit.
		if near := costs[i] - costs[i]/1e12; p.Cost[i] < near {
			return fmt.Errorf("privacy.cost[%d] is %d, by the accountant it is %d", i, p.Cost[i], costs[i])
		}
		if near := budget[i] + budget[i]/1e12; p.Budget[i] > near {
			return fmt.Errorf("privacy.budget[%d] is %d, by the accountant it is %d for epsilon %g at delta %g", i, p.Budget[i],
				budget[i], p.Epsilon, p.Delta)
		}
	}
	return nil
}
