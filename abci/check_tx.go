package abci

import (
	"context"
	"errors"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app/tx"
)

// errNotReady is the answer before InitChain.
var errNotReady = errors.New("the chain has not begun")

// CheckTx admits a transaction to the pool, from RPC and peers alike. A
// recheck keeps what is still of use and lets CometBFT drop the rest.
func (a *Application) CheckTx(_ context.Context, req *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	err := a.check(req)
	if err == nil {
		return &abcitypes.ResponseCheckTx{Code: CodeOK, GasWanted: 1}, nil
	}
	return &abcitypes.ResponseCheckTx{Code: Code(err), Codespace: Codespace, Log: err.Error()}, nil
}

func (a *Application) check(req *abcitypes.RequestCheckTx) error {
	p := a.pool.Load()
	if p == nil {
		return errNotReady
	}
	t, err := tx.Decode(req.Tx)
	if err != nil {
		return err
	}
	if req.Type == abcitypes.CheckTxType_Recheck {
		return p.recheck(t)
	}
	// A transaction that is here already may enter the mempool once more: it is
	// how one that a peer lost is gossiped again. CometBFT's own cache keeps
	// plain repetitions out.
	if err := p.add(t); errors.Is(err, errDuplicate) {
		return nil
	} else if err != nil {
		return err
	}
	if t.Aggregate != nil && a.express != nil {
		a.express(t.Raw)
	}
	a.timings.arrived(t, p.look())
	return nil
}
