package node

import (
	"context"

	abcicli "github.com/cometbft/cometbft/abci/client"
	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci"
)

// clients makes CometBFT's connections to the application of this process.
type clients struct{ abcitypes.Application }

// NewABCIClient implements proxy.ClientCreator. Each connection has a lock of its own.
func (c clients) NewABCIClient() (abcicli.Client, error) {
	return connection{abcicli.NewLocalClient(nil, c.Application), c.Application}, nil
}

// connection is one of them. CometBFT's mempool admits by CheckTxAsync. CheckTx is called by the RPC's
// /check_tx alone, which promises to add nothing to the mempool.
type connection struct {
	abcicli.Client
	application abcitypes.Application
}

// CheckTx judges a transaction, which the pool does not keep.
func (c connection) CheckTx(ctx context.Context, req *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	if a, ok := c.application.(*abci.Application); ok {
		return a.Judge(req.Tx), nil
	}
	return c.application.CheckTx(ctx, req)
}
