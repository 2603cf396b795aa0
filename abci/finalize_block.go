package abci

import (
	"context"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// FinalizeBlock executes a decided block. An error here, a panic of the core included,
// halts the node: two thirds decided what it cannot execute.
func (a *Application) FinalizeBlock(_ context.Context, req *abcitypes.RequestFinalizeBlock) (*abcitypes.ResponseFinalizeBlock, error) {
	s := a.state.Load()
	if s == nil {
		return nil, errNotReady
	}
	txs, err := a.pool.Load().decode(req.Txs)
	if err != nil {
		return nil, fmt.Errorf("decided block %d: %w", req.Height, err)
	}
	out, err := a.execute(s, req.Height, txs, req.Misbehavior)
	if err != nil {
		return nil, fmt.Errorf("decided block %d: %w", req.Height, err)
	}
	a.decided = out
	hash := out.State.Hash()
	r := &abcitypes.ResponseFinalizeBlock{
		Events:    append(roundEvents(out.Record, GreatestSpend(out.State)), enactmentEvents(out.Enacted)...),
		TxResults: txResults(txs, out.Record),
		AppHash:   hash[:],
	}
	r.Events = append(r.Events, offenceEvents(out.Offences)...)
	for _, v := range out.Validators {
		r.ValidatorUpdates = append(r.ValidatorUpdates, abcitypes.Ed25519ValidatorUpdate(v.ConsensusKey, v.Power))
	}
	if out.BlockBytes != 0 {
		r.ConsensusParamUpdates = &cmtproto.ConsensusParams{Block: &cmtproto.BlockParams{MaxBytes: out.BlockBytes, MaxGas: -1}}
	}
	return r, nil
}
