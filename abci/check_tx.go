package abci

import (
	"context"
	"errors"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
)

// CheckTx admits a transaction from RPC or from a peer to the pool. A recheck fails for a stale
// transaction, which CometBFT then drops.
func (a *Application) CheckTx(_ context.Context, req *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	err := a.check(req)
	if err == nil {
		return &abcitypes.ResponseCheckTx{Code: CodeOK, GasWanted: 1}, nil
	}
	code := Code(err)
	// A failed recheck means that the transaction is stale. It does not count as a rejection.
	if req.Type != abcitypes.CheckTxType_Recheck {
		a.countRejection(metrics.VerbCheckTx, err)
	}
	return &abcitypes.ResponseCheckTx{Code: code, Codespace: Codespace, Log: err.Error()}, nil
}

// Judge returns the answer that CheckTx would give to a new transaction, without admitting the
// transaction. It serves RPC calls such as CometBFT's /check_tx.
func (a *Application) Judge(raw []byte) *abcitypes.ResponseCheckTx {
	err := query.ErrNotReady
	if p := a.pool.Load(); p != nil {
		var t *tx.Tx
		if t, err = tx.Decode(raw); err == nil {
			err = p.Check(t)
		}
	}
	if err != nil && !errors.Is(err, pool.ErrDuplicate) {
		return &abcitypes.ResponseCheckTx{Code: Code(err), Codespace: Codespace, Log: err.Error()}
	}
	return &abcitypes.ResponseCheckTx{Code: CodeOK, GasWanted: 1}
}

// check admits a transaction to the pool, or returns the reason for its rejection.
func (a *Application) check(req *abcitypes.RequestCheckTx) error {
	p := a.pool.Load()
	if p == nil {
		return query.ErrNotReady
	}
	if req.Type == abcitypes.CheckTxType_Recheck && p.FindRaw(req.Tx) != nil {
		return nil
	}
	t, err := tx.Decode(req.Tx)
	if err != nil {
		return err
	}
	if req.Type == abcitypes.CheckTxType_Recheck {
		_, err := p.Add(t)
		return err
	}
	// CheckTx accepts a transaction that is already in the pool. So the transaction enters the mempool again, which sends
	// it to peers that have lost it. CometBFT's mempool cache has already rejected repetitions of recent transactions.
	proof, err := p.Add(t)
	if proof != nil {
		a.accuse(proof)
	}
	switch {
	case errors.Is(err, pool.ErrDuplicate):
		a.options.Host.OnAdmitted(t)
		return nil
	case err != nil:
		a.refusals.Add(p.CommittedState(), t, CodeName(Code(err)), err)
		if a.options.GossipRefused && query.ByContent(t, err) {
			a.options.Host.OnAdmitted(t)
			return nil
		}
		return err
	}
	if t.Aggregate != nil {
		a.options.Host.SendAggregate(t.Raw)
	}
	a.options.Host.OnAdmitted(t) // the mempool takes t when CheckTx has returned
	a.timings.Arrived(t, p.Snapshot())
	if t.Gradient != nil {
		a.precomputer.Run(p.Snapshot())
	}
	a.options.Metrics.Pool(p.Size())
	return nil
}

// accuse submits the proof of an equivocation that this node has seen.
func (a *Application) accuse(proof *tx.Tx) {
	e, ok := proof.Body.(*tx.Evidence)
	if !ok {
		return
	}
	at, _ := e.Conflict()
	a.log.Error("equivocation seen", "participant", at.Participant, "of", at.Kind, "epoch", at.Epoch, "round", at.Round,
		"view", at.View)
	a.options.Host.Report(proof.Raw)
}
