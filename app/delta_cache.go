package app

import (
	"sync"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

// resultCache caches the last result of the rule over a state's gradients. A leader drafts,
// verifies and executes the same round, and the rule is most of the cost of each of these steps.
// The key of the cache is an aggregate's list of gradients. The list has the gradients' hashes, so
// it determines the result.
type resultCache struct {
	mu       sync.Mutex
	included []tx.Included // the gradients of the cached result; nil while the cache is empty
	result   rules.Output  // the cached result
}

// get returns the rule's result over the included gradients. If the result is not in the cache, get
// calls compute and caches its result. Concurrent callers wait for each other. A caller must not
// change the result.
func (a *resultCache) get(included []tx.Included, compute func() (rules.Output, error)) (rules.Output, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.included != nil && tx.SameIncluded(a.included, included) {
		return a.result, nil
	}
	out, err := compute()
	if err != nil {
		return out, err
	}
	out.Neighbours = nil // no caller reads the neighbours, and they would fill memory: up to n for each of n gradients
	a.included, a.result = included, out
	return out, nil
}
