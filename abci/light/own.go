package light

import (
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// own are the gradients that the workers of this process have sent for one round. They need not be
// fetched and verified again where a draft or a block has them.
type own struct {
	mu           sync.Mutex
	epoch, round uint64
	sent         map[[32]byte]*tx.Tx // by content hash
}

// add remembers a gradient, and forgets those of rounds before.
func (o *own) add(t *tx.Tx) {
	g := t.Gradient
	if g == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == nil || g.Epoch > o.epoch || g.Epoch == o.epoch && g.Round > o.round {
		o.epoch, o.round, o.sent = g.Epoch, g.Round, map[[32]byte]*tx.Tx{}
	}
	if g.Epoch == o.epoch && g.Round == o.round {
		o.sent[t.Content] = t
	}
}

func (o *own) at(content []byte) *tx.Tx {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(content) != 32 {
		return nil
	}
	return o.sent[[32]byte(content)]
}

// most reports whether the process has sent most of the gradients of a state's open round.
func (o *own) most(s *app.State) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.epoch == s.Progress.Epoch && o.round == s.Progress.Round && 2*len(o.sent) > s.Active()
}

// known puts in the place of transactions those of this process that are the same.
func (o *own) known(txs []*tx.Tx) {
	for i, t := range txs {
		if t.Gradient == nil {
			continue
		}
		if mine := o.at(t.Content[:]); mine != nil && mine.Hash == t.Hash {
			txs[i] = mine
		}
	}
}
