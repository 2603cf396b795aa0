package abci

import (
	"context"
	"errors"
	"slices"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// decidedLook is the interval at which a waiting proposer checks whether other validators have
// decided its height (Host.IsDecided).
const decidedLook = 20 * time.Millisecond

// PrepareProposal proposes a block from the pool, and ignores the transactions of the request. The block begins with
// the aggregate that closes the round and its gradients. If no aggregate can close the round, the block begins with the
// pending commitments. Operations follow. PrepareProposal waits, up to ProposalWait, until the round is complete, so
// that a round takes only one block.
func (a *Application) PrepareProposal(ctx context.Context,
	req *abcitypes.RequestPrepareProposal) (*abcitypes.ResponsePrepareProposal, error) {
	p := a.pool.Load()
	if p == nil {
		return nil, query.ErrNotReady
	}
	if err := a.state.Load().Executable(); err != nil {
		a.log.Error("nothing to propose", "height", req.Height, "err", err)
		return &abcitypes.ResponsePrepareProposal{}, nil
	}
	txs := a.withOperations(p, a.propose(ctx, p, req), req)
	raws := make([][]byte, len(txs))
	for i, t := range txs {
		raws[i] = t.Raw
	}
	return &abcitypes.ResponsePrepareProposal{Txs: raws}, nil
}

// propose waits until the pool holds a round that Execute accepts, and returns the round's
// transactions. It stops waiting, and returns no round
//
//   - after ProposalWait;
//   - if all required gradients or N-f gradients are in the pool, and the pool has not changed for
//     StragglerWait. At a height at which the round may close without some required gradients
//     (MayCloseShort), N-f gradients are not enough, because there the leader waits for stragglers too;
//   - at once if other validators have decided the height.
//
// A block without a round still advances the height, on which the view and the quorum depend. In the commit phase
// propose waits under the same conditions, and then returns the pending commitments.
func (a *Application) propose(ctx context.Context, p *pool.Pool, req *abcitypes.RequestPrepareProposal) []*tx.Tx {
	deadline := time.NewTimer(a.options.ProposalWait)
	defer deadline.Stop()
	idle := time.NewTimer(a.options.ProposalWait)
	defer idle.Stop()
	for {
		v := p.Snapshot()
		if v.State.Finished() {
			return nil
		}
		committing := v.State.Committing()
		if committing && v.Complete() {
			return commitments(v, req)
		}
		if txs := a.assemble(p, v, req); txs != nil {
			return txs
		}
		if v.Complete() || v.HasQuorum() && (committing || !v.MayCloseShort(req.Height)) {
			idle.Reset(a.options.StragglerWait)
		}
		if !a.awaitChange(ctx, v.Changed, idle.C, deadline.C, req.Height) {
			return commitments(p.Snapshot(), req)
		}
	}
}

// commitments returns the pending commitments that a block may carry.
func commitments(v pool.Snapshot, req *abcitypes.RequestPrepareProposal) []*tx.Tx {
	return v.State.Commits(uint64(req.Height), v.Pending, req.MaxTxBytes)
}

// awaitChange waits for a change of the pool, and returns true. It returns false if the wait ends
// earlier: when idle or deadline fires, ctx ends, or other validators have decided the height.
func (a *Application) awaitChange(ctx context.Context, changed <-chan struct{}, idle, deadline <-chan time.Time,
	height int64) bool {
	look := time.NewTicker(decidedLook)
	defer look.Stop()
	for !a.options.Host.IsDecided(height) {
		select {
		case <-changed:
			return true
		case <-look.C:
		case <-idle:
			return false
		case <-deadline:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// withOperations returns the transactions of round followed by the operations. If this node would
// reject the block with the operations, it returns only those of round.
func (a *Application) withOperations(p *pool.Pool, round []*tx.Tx, req *abcitypes.RequestPrepareProposal) []*tx.Tx {
	v := p.Snapshot()
	operations := v.State.Operations(v.Operations, round, req.MaxTxBytes)
	if len(operations) == 0 {
		return round
	}
	txs := slices.Concat(round, operations)
	if _, err := a.executor.Execute(v.State, app.Block{Height: uint64(req.Height), Txs: txs,
		Misbehavior: misbehaviors(req.Misbehavior)}); err != nil {
		a.log.Error("operations are left out", "height", req.Height, "operations", len(operations), "err", err)
		return round
	}
	return txs
}

// assemble returns the transactions of a round that Execute accepts, nil if the pool has no such round. If Execute
// rejects an aggregate, assemble removes it from the pool and tries the next aggregate.
func (a *Application) assemble(p *pool.Pool, v pool.Snapshot, req *abcitypes.RequestPrepareProposal) []*tx.Tx {
	for {
		txs := v.State.Assemble(uint64(req.Height), v.Pending, req.MaxTxBytes)
		if txs == nil {
			return nil
		}
		_, err := a.executor.Execute(v.State, app.Block{Height: uint64(req.Height), Txs: txs,
			Misbehavior: misbehaviors(req.Misbehavior)})
		switch {
		case err == nil:
			return txs
		case errors.Is(err, app.ErrHeight): // the request is not for the next height; the aggregate may be valid
			a.log.Error("nothing to propose", "height", req.Height, "err", err)
			return nil
		}
		a.log.Info("aggregate is rejected", "height", req.Height, "leader", txs[0].Aggregate.Leader, "err", err)
		p.Reject(txs[0], err)
		v = p.Snapshot()
	}
}
