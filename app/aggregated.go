package app

import (
	"bytes"
	"slices"
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

// in returns what the rule makes of the gradients that are listed, which make computes. Who asks for
// the same at the same time waits for it. What it returns must not be changed.
func (a *aggregated) in(included []tx.Included, make func() (rules.Output, error)) (rules.Output, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := func(x, y tx.Included) bool { return x.Participant == y.Participant && bytes.Equal(x.Hash, y.Hash) }
	if a.of != nil && slices.EqualFunc(a.of, included, same) {
		return a.last, nil
	}
	out, err := make()
	if err != nil {
		return out, err
	}
	out.Neighbours = nil // n for each of n gradients, of which nobody asks here
	a.of, a.last = included, out
	return out, nil
}
