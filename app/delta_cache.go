package app

import (
	"sync"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

// aggregated caches the last result of the rule over a state's gradients. A leader drafts, verifies
// and executes the same round, and the rule is most of the cost of each step. The list of an
// aggregate determines the result, because it has the hashes of the gradients.
type aggregated struct {
	mu   sync.Mutex
	of   []tx.Included // nil at first
	last rules.Output
}

// in returns the rule's result over the included gradients, which run computes unless it is cached.
// Concurrent callers wait for each other. A caller must not change the result.
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
	out.Neighbours = nil // the neighbours, up to n for each of n gradients, would fill memory, and no caller reads them
	a.of, a.last = included, out
	return out, nil
}
