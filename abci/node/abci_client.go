package node

import (
	"context"

	abcicli "github.com/cometbft/cometbft/abci/client"
	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci"
)

// clients makes the connections from CometBFT to the application in this process.
type clients struct{ abcitypes.Application }

// NewABCIClient implements proxy.ClientCreator. Each connection has its own lock.
func (c clients) NewABCIClient() (abcicli.Client, error) {
	return connection{abcicli.NewLocalClient(nil, c.Application), c.Application}, nil
}

// connection is a client whose CheckTx does not add the transaction to the pool. Only RPC's
// /check_tx calls CheckTx; CometBFT's mempool calls CheckTxAsync.
type connection struct {
	abcicli.Client
	application abcitypes.Application
}

// CheckTx returns the verdict on a transaction without adding it to the pool.
func (c connection) CheckTx(ctx context.Context, req *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	if a, ok := c.application.(*abci.Application); ok {
		return a.Judge(req.Tx), nil
	}
	return c.application.CheckTx(ctx, req)
}
