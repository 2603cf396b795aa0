package app

import (
	"sync"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

// aggregated is what the rule made of a state's gradients last: a leader drafts, verifies and
// executes the same round, and the rule is most of the cost of each. The list of an aggregate
// determines the result, for it has the hashes of the gradients.
type aggregated struct {
	mu   sync.Mutex
	of   []tx.Included // nil at first
	last rules.Output
}

// in returns what the rule makes of the gradients that are listed, which run computes. A caller
// that asks for the same at the same time waits for it. What it returns must not be changed.
func (a *aggregated) in(included []tx.Included, run func() (rules.Output, error)) (rules.Output, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != nil && tx.SameIncluded(a.of, included) {
		return a.last, nil
	}
	out, err := run()
	if err != nil {
		return out, err
	}
	out.Neighbours = nil // n for each of n gradients, of which nobody asks here
	a.of, a.last = included, out
	return out, nil
}
