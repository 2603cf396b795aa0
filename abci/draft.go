package abci

import (
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Draft returns the unsigned aggregate with which the participant can close the open round. If required gradients are
// missing, Draft fails with app.ErrNotClosing until StragglerWait has passed since the last gradient arrived.
func (a *Application) Draft(participant uint32) (*tx.Aggregate, error) {
	return a.draft(participant, a.pool.Load().Snapshot())
}

func (a *Application) draft(participant uint32, v pool.Snapshot) (*tx.Aggregate, error) {
	start := a.options.Now()
	draft, err := a.drafts.Draft(v, participant, func() {
		a.options.Metrics.Observe("rule_seconds", a.options.Now().Sub(start).Seconds())
	})
	if err != nil {
		return nil, err
	}
	if v.Holds(draft) {
		return nil, fmt.Errorf("%w: the aggregate of view %d is in the pool", app.ErrNotClosing, draft.View)
	}
	if rest := a.options.StragglerWait - a.options.Now().Sub(v.LastGrowth); !v.Complete() && rest > 0 {
		return nil, fmt.Errorf("%w: %v more for stragglers", app.ErrNotClosing, rest.Round(time.Millisecond))
	}
	return draft, nil
}

// Local returns the chain as the worker in this process uses it.
func (a *Application) Local() worker.Chain {
	return pool.LocalChain{Ready: a.ready, Pool: a.pool.Load, Draft: a.Draft, StragglerWait: a.options.StragglerWait,
		Send: a.options.Host.Broadcast}
}

// Pending returns the open round's transactions and the operations in this node's pool, and the
// number of the open round.
func (a *Application) Pending() (raws [][]byte, round uint64) {
	p := a.pool.Load()
	if p == nil {
		return nil, 0
	}
	v := p.Snapshot()
	for _, t := range slices.Concat(v.Pending, v.Operations) {
		raws = append(raws, t.Raw)
	}
	return raws, v.State.Progress.Round
}

// PoolTx returns the pending transaction with the given hash, or nil.
func (a *Application) PoolTx(hash [32]byte) *tx.Tx { return a.pool.Load().Find(hash) }

// HashOf returns the hash of a transaction. For a pending transaction it need not compute the hash.
func (a *Application) HashOf(raw []byte) [32]byte { return a.pool.Load().HashOf(raw) }

// PoolTxs returns all transactions in this node's pool, including those of the next round.
func (a *Application) PoolTxs() []*tx.Tx { return a.pool.Load().Txs() }

// Verdict returns nil if the result code of CheckTx is CodeOK, and otherwise worker.ErrRejected
// with the log and the code.
func Verdict(code uint32, log string) error {
	if code == CodeOK {
		return nil
	}
	return fmt.Errorf("%w: %s (code %d)", worker.ErrRejected, log, code)
}
