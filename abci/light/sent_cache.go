//go:build !js

package light

import (
	"slices"
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// sentCache caches the transactions of one round that the workers of this process have sent, and the gradients of the
// drafts that they have checked. So the verifier need not fetch and verify them again in a draft or a block.
type sentCache struct {
	mu             sync.Mutex
	epoch, round   uint64
	sentGradients  map[[32]byte]*tx.Tx // gradients that this process sent, by content hash
	draftGradients map[[32]byte]*tx.Tx // gradients of checked drafts, by content hash
	aggregates     []*tx.Tx
}

// addSent caches a gradient or an aggregate, and drops all transactions of earlier rounds.
func (o *sentCache) addSent(t *tx.Tx) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch g, a := t.Gradient, t.Aggregate; {
	case g != nil && o.isFor(g.Epoch, g.Round):
		o.sentGradients[t.Content] = t
	case a != nil && o.isFor(a.Epoch, a.Round) && !slices.ContainsFunc(o.aggregates,
		func(x *tx.Tx) bool { return x.Hash == t.Hash }):
		o.aggregates = append(o.aggregates, t)
	}
}

// addDraft caches the gradients of a draft that has passed CheckDraft.
func (o *sentCache) addDraft(draft *tx.Aggregate, gradients []*tx.Tx) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.isFor(draft.Epoch, draft.Round) {
		return
	}
	for _, t := range gradients {
		o.draftGradients[t.Content] = t
	}
}

// isFor reports whether the cache holds transactions of the given round. If that round is later than the cache's round,
// isFor first empties the cache and moves it to that round. The caller holds the lock.
func (o *sentCache) isFor(epoch, round uint64) bool {
	if o.sentGradients == nil || epoch > o.epoch || epoch == o.epoch && round > o.round {
		o.epoch, o.round, o.aggregates = epoch, round, nil
		o.sentGradients, o.draftGradients = map[[32]byte]*tx.Tx{}, map[[32]byte]*tx.Tx{}
	}
	return epoch == o.epoch && round == o.round
}

func (o *sentCache) find(content []byte) *tx.Tx {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(content) != 32 {
		return nil
	}
	return o.sentGradients[[32]byte(content)]
}

// sentMost reports whether this process has sent more than half of the gradients of a state's open round.
func (o *sentCache) sentMost(s *app.State) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.epoch == s.Progress.Epoch && o.round == s.Progress.Round && 2*len(o.sentGradients) > s.Active()
}

// addKnown replaces each gradient in txs by the cached copy, if there is one, because that copy is already verified.
func (o *sentCache) addKnown(txs []*tx.Tx) {
	for i, t := range txs {
		if t.Gradient == nil {
			continue
		}
		if mine := o.find(t.Content[:]); mine != nil && mine.Hash == t.Hash {
			txs[i] = mine
		}
	}
}
