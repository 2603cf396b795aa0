package abci

import (
	"context"
	"errors"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// FinalizeBlock executes a decided block. An error here, including a panic of the core, halts the
// node: two thirds decided a block that it cannot execute.
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
		if errors.Is(err, app.ErrVersion) && a.hold != nil {
			a.hold()
		}
		return nil, fmt.Errorf("decided block %d: %w", req.Height, err)
	}
	a.decided = out
	if lost := a.turns.observe(req, includedValidators(out.State, out.Record)); a.options.NextTurn != nil {
		a.options.NextTurn(lost)
	}
	hash := out.State.Hash()
	r := &abcitypes.ResponseFinalizeBlock{
		Events:    append(roundEvents(out.Record, a.queries.MaxEpsilon(out.State)), enactmentEvents(out.Enacted)...),
		TxResults: TxResults(txs, out.Record),
		AppHash:   hash[:],
	}
	r.Events = append(r.Events, revealEvents(out)...)
	r.Events = append(r.Events, offenceEvents(out.Offences)...)
	for _, v := range out.Validators {
		r.ValidatorUpdates = append(r.ValidatorUpdates, abcitypes.Ed25519ValidatorUpdate(v.ConsensusKey, v.Power))
	}
	r.ConsensusParamUpdates = ConsensusUpdates(out)
	return r, nil
}
