package abci

import (
	"context"
	"encoding/hex"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// ProcessProposal accepts a proposed block if Execute accepts it. It rejects any other block,
// including a block that makes Execute panic, and logs the reason.
func (a *Application) ProcessProposal(_ context.Context,
	req *abcitypes.RequestProcessProposal) (*abcitypes.ResponseProcessProposal, error) {
	s := a.state.Load()
	if s == nil {
		return nil, query.ErrNotReady
	}
	if err := a.verdict(s, req); err != nil {
		a.countRejection(metrics.VerbProcessProposal, err)
		a.log.Error("proposal rejected", "height", req.Height, "hash", hex.EncodeToString(req.Hash), "txs", len(req.Txs),
			"err", err)
		return &abcitypes.ResponseProcessProposal{Status: abcitypes.ResponseProcessProposal_REJECT}, nil
	}
	return &abcitypes.ResponseProcessProposal{Status: abcitypes.ResponseProcessProposal_ACCEPT}, nil
}

// verdict returns nil if this node may vote for a proposal, and the reason for the rejection if not.
func (a *Application) verdict(s *app.State, req *abcitypes.RequestProcessProposal) (err error) {
	defer query.Catch(&err)
	txs, err := a.pool.Load().Decode(req.Txs)
	if err != nil {
		return err
	}
	_, err = a.executor.Execute(s, app.Block{Height: uint64(req.Height), Txs: txs,
		Misbehavior: misbehaviors(req.Misbehavior)})
	return err
}
