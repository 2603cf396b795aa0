package abci

import (
	"context"
	"errors"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// FinalizeBlock executes a decided block. An error or a panic here halts the node: more than two
// thirds of the validators decided a block that this node cannot execute.
func (a *Application) FinalizeBlock(_ context.Context,
	req *abcitypes.RequestFinalizeBlock) (*abcitypes.ResponseFinalizeBlock, error) {
	s := a.state.Load()
	if s == nil {
		return nil, query.ErrNotReady
	}
	txs, err := a.pool.Load().Decode(req.Txs)
	if err != nil {
		return nil, fmt.Errorf("decided block %d: %w", req.Height, err)
	}
	out, err := a.executor.Execute(s, app.Block{Height: uint64(req.Height), Txs: txs,
		Misbehavior: misbehaviors(req.Misbehavior)})
	if err != nil {
		if errors.Is(err, app.ErrVersion) {
			a.options.Host.OnHold()
		}
		return nil, fmt.Errorf("decided block %d: %w", req.Height, err)
	}
	a.outcome = out
	a.options.Host.OnFinalized(req, out)
	hash := out.State.Hash()
	r := &abcitypes.ResponseFinalizeBlock{
		Events:    append(roundEvents(out.Record, a.queries.MaxEpsilon(out.State)), enactmentEvents(out.Enacted)...),
		TxResults: TxResults(txs, out.Record),
		AppHash:   hash[:],
	}
	r.Events = append(r.Events, discardEvents(out.Discarded)...)
	r.Events = append(r.Events, revealEvents(out)...)
	r.Events = append(r.Events, offenceEvents(out.Offences)...)
	for _, v := range out.Validators {
		r.ValidatorUpdates = append(r.ValidatorUpdates, abcitypes.Ed25519ValidatorUpdate(v.ConsensusKey, v.Power))
	}
	r.ConsensusParamUpdates = ConsensusUpdates(out)
	return r, nil
}

// ConsensusUpdates returns the consensus parameters that CometBFT must change after a block, nil if it changes none.
// They are the max block size and, in the block before the height of an upgrade, the app version in the headers.
func ConsensusUpdates(out *app.Outcome) *cmtproto.ConsensusParams {
	var p cmtproto.ConsensusParams
	if out.BlockBytes != 0 {
		p.Block = &cmtproto.BlockParams{MaxBytes: out.BlockBytes, MaxGas: -1}
	}
	if u, ok := out.State.Upgraded(); ok && u.Height == out.State.Height+1 {
		p.Version = &cmtproto.VersionParams{App: u.Version}
	}
	if p.Block == nil && p.Version == nil {
		return nil
	}
	return &p
}
