package params

import "fmt"

// LedgerOrders is the number of orders of Renyi divergence in the ledger. The accountant chooses
// the orders (app/SPEC.md lists them). The chain computes no divergence: it only adds the integer
// costs in the ledger, and compares the sums with the budget.
const LedgerOrders = 47

// maxLedger is the max value of an entry of Cost or Budget, in 1e-9 nats. It is low enough that sums
// do not overflow.
const maxLedger = 1 << 62

// ValidateLedger rejects a budget that is incomplete or pays for no participation.
func (p Privacy) ValidateLedger() error {
	switch {
	case p.Lemma1Epsilon != 0 && len(p.Cost) == 0:
		return fmt.Errorf("privacy.lemma1_epsilon is %g without a ledger: what the noise costs must stand beside what "+
			"Lemma 1 claims", p.Lemma1Epsilon)
	case p.Epsilon == 0 && p.Delta == 0 && len(p.Cost) == 0 && len(p.Budget) == 0:
		return nil
	case p.Mechanism != MechanismGaussian:
		return fmt.Errorf("privacy.epsilon is %g with mechanism %q, a budget needs %q", p.Epsilon, p.Mechanism,
			MechanismGaussian)
	case !positive(p.Epsilon) || !(p.Delta > 0 && p.Delta < 1):
		return fmt.Errorf("privacy.epsilon is %g and delta %g, want above 0 and within (0, 1)", p.Epsilon, p.Delta)
	case len(p.Cost) != LedgerOrders || len(p.Budget) != LedgerOrders:
		return fmt.Errorf("privacy.cost has %d and budget %d entries, want %d", len(p.Cost), len(p.Budget), LedgerOrders)
	}
	return p.validateEntries()
}

// validateEntries checks the entries of Cost and Budget, each of which belongs to one order of RDP.
func (p Privacy) validateEntries() error {
	for i := range p.Cost {
		if p.Cost[i] == 0 || p.Cost[i] > maxLedger || p.Budget[i] > maxLedger {
			return fmt.Errorf("privacy.cost[%d] is %d and budget[%d] %d, want 1 to %d and at most that", i, p.Cost[i], i,
				p.Budget[i], uint64(maxLedger))
		}
	}
	if p.Participations(nil) == 0 {
		return fmt.Errorf("privacy.budget does not pay for one participation")
	}
	return nil
}

// Participations returns the number of further gradients that the budget pays for after the spent
// costs, at the order that allows the most gradients. Without a budget the number is the max of
// uint64.
func (p Privacy) Participations(spent []uint64) uint64 {
	if len(p.Cost) == 0 {
		return 1<<64 - 1
	}
	var most uint64
	for i, cost := range p.Cost {
		var used uint64
		if i < len(spent) {
			used = spent[i]
		}
		if budget := p.Budget[i]; used < budget {
			most = max(most, (budget-used)/cost)
		}
	}
	return most
}

// Pay returns the spent costs after one more participation, in a new slice. Without a ledger it
// returns spent itself.
func (p Privacy) Pay(spent []uint64) []uint64 {
	if len(p.Cost) == 0 {
		return spent
	}
	after := make([]uint64, LedgerOrders)
	copy(after, spent)
	for i := range after {
		after[i] = min(after[i]+p.Cost[i], maxLedger*2)
	}
	return after
}
