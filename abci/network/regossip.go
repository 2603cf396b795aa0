package network

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/mempool"

	"github.com/spdl/spdl/abci"
)

// The transactions of a round that stays open are sent again after firstRegossip, and then after pauses that double
// each time, up to lastRegossip. The caller adds twice the transfer time of a round's bytes to the first pause.
const (
	firstRegossip = 2 * time.Second
	lastRegossip  = time.Minute
)

// Synced waits until the node has caught up with its peers; until then they do not get its
// transactions. It returns the error of ctx if ctx ends first.
func (n *Network) Synced(ctx context.Context) error {
	for n.node.ConsensusReactor().WaitSync() || n.CheckGap() != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// regossip submits the pool's transactions to the mempool again while a round stays open. Without
// regossip a gradient might never leave its own node, because the mempool sends a transaction to a
// peer only once, and a syncing peer drops the transaction.
func (n *Network) regossip(ctx context.Context, a *abci.Application, first time.Duration) {
	pause := first
	_, last := a.Pending()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		raws, round := a.Pending()
		if round != last {
			last, pause = round, first
			continue
		}
		pause = min(2*pause, lastRegossip)
		if len(raws) == 0 || n.node.ConsensusReactor().WaitSync() {
			continue
		}
		pool := n.node.Mempool()
		pool.Flush() // Flush also empties the mempool's cache, which would reject these transactions
		for _, raw := range raws {
			_ = pool.CheckTx(raw, nil, mempool.TxInfo{}) // a rejection has no consequence here
		}
	}
}
