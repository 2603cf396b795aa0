package params

import (
	"fmt"
	"math/bits"
)

// LedgerColumns is the number of columns of the ledger: 47 orders of Renyi divergence, and mu² of
// Gaussian differential privacy. The accountant chooses the orders and the units (app/SPEC.md lists
// them). The chain computes no divergence: it only adds the integer costs in the ledger, and compares
// the sums with the budget. Before version 7 of the state machine the column of mu² did not exist.
const LedgerColumns = ledgerOrders + 1

const ledgerOrders = 47

// unaffordable is the max value of a cost and of an entry of a ledger, and above every budget. As a cost it
// says that a column knows no bound. Numbers up to it pass unchanged through tools that read them as float64.
const unaffordable = 1 << 53

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
	case len(p.Cost) != len(p.Budget) || len(p.Cost) != LedgerColumns && len(p.Cost) != ledgerOrders:
		return fmt.Errorf("privacy.cost has %d and budget %d entries, want %d, or %d as before version 7", len(p.Cost),
			len(p.Budget), LedgerColumns, ledgerOrders)
	}
	return p.validateEntries()
}

// validateEntries checks the entries of Cost and Budget, each of which belongs to one column.
func (p Privacy) validateEntries() error {
	for i := range p.Cost {
		if p.Cost[i] == 0 || p.Cost[i] > unaffordable || p.Budget[i] >= unaffordable {
			return fmt.Errorf("privacy.cost[%d] is %d and budget[%d] %d, want 1 to %d and below that", i, p.Cost[i], i,
				p.Budget[i], uint64(unaffordable))
		}
	}
	if p.Participations(nil) == 0 {
		return fmt.Errorf("privacy.budget does not pay for one participation")
	}
	return nil
}

// Entry returns an entry of a ledger. An empty ledger stands for zeros. An entry that another ledger
// lacks was not counted, so it is the largest cost.
func Entry(ledger []uint64, column int) uint64 {
	switch {
	case column < len(ledger):
		return ledger[column]
	case len(ledger) == 0:
		return 0
	}
	return unaffordable
}

// Participations returns the number of further gradients that the budget pays for after the spent
// costs, in the column that allows the most gradients. A larger budget of a state of an earlier version
// pays for no more than the largest. Without a budget the number is the max of uint64.
func (p Privacy) Participations(spent []uint64) uint64 {
	if len(p.Cost) == 0 {
		return 1<<64 - 1
	}
	var most uint64
	for i, cost := range p.Cost {
		if used, budget := Entry(spent, i), min(p.Budget[i], unaffordable-1); used < budget {
			most = max(most, (budget-used)/cost)
		}
	}
	return most
}

// Pay returns the spent costs after one more participation, in a new slice. Without a ledger it returns spent itself.
func (p Privacy) Pay(spent []uint64) []uint64 { return p.PayFor(spent, 1) }

// PayFor is like Pay, for a number of participations. An entry stays at the largest cost at most.
func (p Privacy) PayFor(spent []uint64, participations uint64) []uint64 {
	if len(p.Cost) == 0 {
		return spent
	}
	after := make([]uint64, max(len(p.Cost), len(spent)))
	for i := range after {
		over, cost := bits.Mul64(Entry(p.Cost, i), participations)
		sum, carry := bits.Add64(Entry(spent, i), cost, 0)
		if after[i] = min(sum, unaffordable); over+carry > 0 {
			after[i] = unaffordable
		}
	}
	return after
}
